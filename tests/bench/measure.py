#!/usr/bin/python3
"""Times hooks side by side on one simulated host: measure.py BUILD VFS ROUNDS. Prints rows of a Markdown table.

Every subject runs its prepare and its release once in each round, so that a noisy machine is noisy for all, in another order each time:
what one subject leaves to the disk and the caches is then paid by each of the others alike. The figure is the median. System calls are counted by strace -f -c in runs of their own. /proc is a copy in memory of what a host with 150 processes and
2,400 open files shows: through the simulator every look at it would cost a hundred times what it costs in the kernel."""
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

build, vfs, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
here = os.path.dirname(os.path.abspath(__file__))
VF, TYPE = "0000:41:00.4", "1150"
UUID = "a0000000-0000-4000-8000-000000000001"
XML = f"""<domain type='kvm' id='1'><name>vm1</name><uuid>{UUID}</uuid>
<metadata><vgpu:devices xmlns:vgpu='urn:virt-vgpu:domain:1' domain='{UUID}'><vgpu:device name='vgpu0' profile='NVIDIA L40S-4Q'/>
</vgpu:devices></metadata><memory unit='KiB'>1048576</memory><devices>
<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' bus='0x41' slot='0x00' function='0x4'/></source>
<alias name='ua-vgpu0'/></hostdev></devices></domain>
"""


def make_proc(root):
    """150 processes, two thirds of them kernel threads without files, the others with 48 files each."""
    os.makedirs(f"{root}/sys/kernel/random")
    with open(f"{root}/sys/kernel/random/boot_id", "w") as file:
        file.write("3f0e0c52-0000-4000-8000-000000000000\n")
    for pid in range(1, 151):
        process = f"{root}/{pid}"
        os.makedirs(f"{process}/fd")
        os.makedirs(f"{process}/task/{pid}")
        with open(f"{process}/cmdline", "w") as file:
            file.write("" if pid % 3 else f"/usr/lib/daemon-{pid}\0--serve\0")
        for fd in range(0 if pid % 3 else 48):
            os.symlink(f"socket:[{pid * 100 + fd}]" if fd % 2 else f"/var/log/{fd}.log", f"{process}/fd/{fd}")


def start_simulator(work):
    gpus = max(1, vfs // 256) if vfs > 16 else 1
    mount = f"{work}/host"
    os.makedirs(mount)
    ready_read, ready_write = os.pipe()
    process = subprocess.Popen(
        [f"{build}/tests/simulator/vgpu-simulator", "--gpus", str(gpus), "--vfs", str(vfs // gpus), "--die-with-parent", "--cache",
         "--ready-fd", str(ready_write), mount], pass_fds=[ready_write])
    os.close(ready_write)
    assert b"ready" in os.read(ready_read, 4096)
    return process, mount


def subjects(mount, work, memory):
    group = os.path.basename(os.readlink(f"{mount}/sys/bus/pci/devices/{VF}/iommu_group"))
    args = [f"{mount}/sys", f"{mount}/dev", f"{work}/state", VF, group, TYPE]
    hook = f"{build}/hooks/virt-vgpu-hook"
    return {
        "no-op": {"prepare": [f"{build}/tests/bench/bench-noop"], "release": [f"{build}/tests/bench/bench-noop"]},
        "floor": {op: [f"{build}/tests/bench/bench-floor", op] + args for op in ("prepare", "release")},
        "floor with the scans": {op: [f"{build}/tests/bench/bench-floor", op] + args + scan
                                 for op, scan in (("prepare", []), ("release", [f"{memory}/proc"]))},
        "virt-vgpu-hook": {"prepare": [hook, "vm1", "prepare", "begin", "-"],
                           "release": [hook, "vm1", "release", "end", "-"]},
        "bash hook": {op: ["/bin/bash", f"{here}/hook.sh", op] + args for op in ("prepare", "release")},
        "Python hook": {op: ["/usr/bin/python3", f"{here}/hook.py", op] + args for op in ("prepare", "release")},
    }


def run(command, environment):
    read_end, write_end = os.pipe()
    os.write(write_end, XML.encode())
    os.close(write_end)
    begin = time.perf_counter()
    # posix_spawn: what is measured is the hook, not a fork of this interpreter.
    pid = os.posix_spawn(command[0], command, environment,
                         file_actions=[(os.POSIX_SPAWN_DUP2, read_end, 0)])
    _, status = os.waitpid(pid, 0)
    elapsed = time.perf_counter() - begin
    os.close(read_end)
    if status != 0:
        raise SystemExit(f"{command} ended with status {status}")
    return elapsed


def system_calls(command, environment, work):
    report = f"{work}/strace"
    run(["/usr/bin/strace", "-f", "-c", "-o", report] + command, environment)
    with open(report) as file:
        total = [line for line in file if line.rstrip().endswith("total")]
    return int(re.split(r"\s+", total[0].strip())[3])


def main():
    with (tempfile.TemporaryDirectory(prefix="virt-vgpu-bench.", dir=os.environ.get("VGPU_BENCH_DIR", "/var/tmp")) as work,
          tempfile.TemporaryDirectory(prefix="virt-vgpu-bench.", dir="/dev/shm") as memory):
        make_proc(f"{memory}/proc")
        process, mount = start_simulator(work)
        try:
            os.makedirs(f"{work}/state/claims")
            os.makedirs(f"{work}/run/devices")
            config = f"{work}/virt-vgpu.toml"
            with open(config, "w") as file:
                file.write(f'[paths]\nsysfs = "{mount}/sys"\nproc = "{memory}/proc"\ndev = "{mount}/dev"\n'
                           f'libvirt_run = "{work}/libvirt"\nstate = "{work}/state"\nruntime = "{work}/run"\n')
            environment = {"VIRT_VGPU_CONFIG": config, "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
            all_subjects = subjects(mount, work, memory)
            times = {name: {"prepare": [], "release": []} for name in all_subjects}
            order = random.Random(vfs)
            for round_number in range(rounds + 2):
                for name in order.sample(list(all_subjects), len(all_subjects)):
                    for op in ("prepare", "release"):
                        elapsed = run(all_subjects[name][op], environment)
                        if round_number >= 2:  # the first rounds warm the caches
                            times[name][op].append(elapsed)
            calls = {name: {} for name in all_subjects}
            for name, commands in all_subjects.items():
                for op in ("prepare", "release"):
                    calls[name][op] = system_calls(commands[op], environment, work)
            floor = {op: statistics.median(times["floor with the scans"][op]) for op in ("prepare", "release")}
            for name in all_subjects:
                median = {op: statistics.median(times[name][op]) for op in ("prepare", "release")}
                print(f"| {vfs} | {name} | {median['prepare'] * 1000:.2f} | {median['release'] * 1000:.2f} | "
                      f"{median['prepare'] / floor['prepare']:.2f} | {median['release'] / floor['release']:.2f} | {calls[name]['prepare']} | {calls[name]['release']} |", flush=True)
        finally:
            process.terminate()
            process.wait()


main()
