#!/usr/bin/python3
"""A hand-written hook of the usual kind, for comparison: the same writes, no claim protocol."""
import json
import os
import sys
import xml.etree.ElementTree

op, sysfs, dev, state, vf, group, type_id = sys.argv[1:8]
domain = xml.etree.ElementTree.fromstring(sys.stdin.read())
nvidia = f"{sysfs}/bus/pci/devices/{vf}/nvidia"
claim = f"{state}/claims/pci-{vf}.json"


def read(name):
    with open(f"{nvidia}/{name}") as file:
        return file.read().strip()


def write(name, text):
    fd = os.open(f"{nvidia}/{name}", os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)


if op == "prepare":
    assert read("current_vgpu_type") == "0"
    assert type_id in read("creatable_vgpu_types")
    with open(claim, "w") as file:
        json.dump({"domain": domain.findtext("name"), "type_id": int(type_id)}, file)
        file.flush()
        os.fsync(file.fileno())
    write("current_vgpu_type", type_id)
    assert read("current_vgpu_type") == type_id
else:
    write("current_vgpu_type", "0")
    assert read("current_vgpu_type") == "0"
    os.unlink(claim)
