# Starts that must not happen, each with a sentence that says why.
# shellcheck shell=bash disable=SC2034,SC2154,SC2317

case_a_second_domain_is_refused_and_told_who_holds_the_device() {
	local pid
	vgpu_domain owner "$vf" 4Q
	vgpu_domain second "$vf" 4Q
	virsh start owner
	pid=$(qemu_pid owner)
	refused_by_hook second
	says "$vf" owner
	same "$(grep -c . "$tmp/said")" 2 "lines of virsh's error, of which ours must be one"
	serves "$vf" owner 4Q
	same "$(qemu_pid owner)" "$pid" "QEMU of the owner"
	virsh destroy owner
	virsh start second
	serves "$vf" second 4Q
	virsh destroy second
	is_free "$vf"
}

case_a_second_domain_on_an_mdev_is_refused() {
	local uuid
	uuid=$(new_uuid)
	vgpu_domain owner "$uuid" 4Q
	vgpu_domain second "$uuid" 4Q
	virsh start owner
	refused_by_hook second
	says "$uuid" owner
	serves "$uuid" owner 4Q
	virsh destroy owner
	is_free "$uuid"
}

case_a_clone_is_refused_until_it_is_assigned_its_own_device() {
	vgpu_domain source "$vf" 4Q
	virsh start source
	clone_of source clone
	refused_by_hook clone
	says "$vf" source
	serves "$vf" source 4Q
	virt-vgpu assign clone --profile L40S-4Q
	virsh start clone
	running clone
	serves "$vf" source 4Q
	same "$(jq -r .domain.name "$claims"/*.json | sort | paste -sd' ')" "clone source" "holders"
	virsh destroy clone
	serves "$vf" source 4Q
	virsh destroy source
}

case_two_domains_race_for_one_vf() {
	local round winner name rc pids
	vgpu_domain one "$vf" 4Q
	vgpu_domain two "$vf" 4Q
	for round in 1 2 3; do
		pids=() winner=
		for name in one two; do virsh start $name & pids+=($!); done
		for name in one two; do
			rc=0
			wait "${pids[0]}" || rc=$?
			pids=("${pids[@]:1}")
			((rc != 0)) || winner+="$name "
		done
		[[ $winner == "one " || $winner == "two " ]] || fail "round $round was won by: ${winner:-nobody}"
		serves "$vf" "${winner% }" 4Q
		virsh destroy "${winner% }"
		is_free "$vf"
	done
}

case_a_vf_that_libvirt_manages_is_refused() {
	local before name
	before=$(readlink "$pci/$vf/driver")
	managed=yes
	vgpu_domain ours "$vf" 4Q
	plain_domain foreign "$(hostdev "$vf")"
	for name in ours foreign; do
		refused_by_hook $name
		says "$vf" managed
		same "$(readlink "$pci/$vf/driver")" "$before" "driver of $vf"
		is_free "$vf"
	done
}

case_a_profile_that_cannot_be_created_is_refused_with_the_reason() {
	vgpu_domain small "$sibling" 4Q
	vgpu_domain big "$vf" 8Q
	virsh start small
	refused_by_hook big
	says "$vf" 8Q
	serves "$sibling" small 4Q
	is_free "$vf"
	virsh destroy small
	virsh start big
	serves "$vf" big 8Q
	virsh destroy big
}

case_an_unknown_profile_is_refused() {
	vgpu_domain vm "$vf" 5Q
	refused_by_hook vm
	says 5Q
	is_free "$vf"
}

case_a_request_without_its_hostdev_is_refused() {
	local uuid
	uuid=$(new_uuid)
	define_xml vm "$uuid" "<vgpu:devices xmlns:vgpu='urn:virt-vgpu:domain:1' domain='$uuid'>
		<vgpu:device name='vgpu0' profile='NVIDIA L40S-4Q'/></vgpu:devices>" ''
	refused_by_hook vm
	says "virt-vgpu assign"
}

case_a_vf_that_is_not_there_is_refused() {
	vgpu_domain vm 0000:41:03.7 4Q
	refused_by_hook vm
	says 0000:41:03.7
	unclaimed 0000:41:03.7
}

case_all_devices_of_a_domain_or_none() {
	vgpu_domain owner "$sibling" 4Q
	vgpu_domain greedy "$vf" 4Q "$sibling" 4Q
	virsh start owner
	refused_by_hook greedy
	says "$sibling" owner
	is_free "$vf"
	virsh destroy owner
	virsh start greedy
	serves "$vf" greedy 4Q
	serves "$sibling" greedy 4Q
	virsh destroy greedy
}

case_an_unreadable_claim_blocks_its_device_only() {
	vgpu_domain blocked "$vf" 4Q
	vgpu_domain other "$sibling" 4Q
	mkdir -p "$claims"
	echo '{"version": 2, "frame' >"$(claim_file "$vf")"
	refused_by_hook blocked
	says "$vf"
	virsh start other
	serves "$sibling" other 4Q
	virsh destroy other
	is_free "$sibling"
	same "$(cat "$(claim_file "$vf")")" '{"version": 2, "frame' "the unreadable claim"
	rm "$(claim_file "$vf")"
	virsh start blocked
	virsh destroy blocked
}

# Not of ours: the facts that the rest builds on.
case_the_kernel_refuses_a_type_write_while_qemu_holds_the_vf() {
	vgpu_domain vm "$vf" 4Q
	virsh start vm
	same "$(cat "$debug/$vf/writes_while_open")" 0 "writes before"
	refused set_type "$vf" 0
	says "Device or resource busy"
	same "$(cat "$debug/$vf/writes_while_open")" 1 "writes after"
	echo 0 >"$debug/$vf/writes_while_open"
	refused virt-vgpu release "$vf"
	refused virt-vgpu release "$vf" --force
	same "$(cat "$debug/$vf/writes_while_open")" 0 "writes of virt-vgpu release"
	serves "$vf" vm 4Q
	virsh destroy vm
}
