#pragma once

#include "agent/core/catalogue.hpp"
#include "agent/core/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// Which vGPU types each GPU model was ever seen to offer. The driver's own list shows what can be
/// created now and is empty on a full card, so that a type in use has no name and a profile that is
/// sold out looks like one that does not exist; this remembers.
/// A model is what its PF says in PCI ids, "vendor:device:subvendor:subdevice":
/// "10de:26b9:10de:1851". It is a memory, never proof: what can be created is always asked of the
/// driver.
class CatalogueMemory {
public:
    /// Reads the file at `path`; a missing one is an empty memory.
    /// Errors: `corrupt` when it cannot be understood (go on with an empty memory and say so),
    /// else those of read_small_file().
    [[nodiscard]] static Result<CatalogueMemory> load(const std::string& path);

    /// Takes over what one VF or parent of `model` offers now. What was just seen wins: a
    /// remembered type with the same id under another name, or with the same name under another id,
    /// is forgotten, because ids belong to a driver release. Not remembered, for the size's sake:
    /// id 0, names that are not 1 to 96 bytes of printable ASCII, types of a model beyond 512,
    /// models beyond 32.
    void learn(const std::string& model, const std::vector<VgpuType>& seen);

    /// All types of `model` in the order of their ids; empty for an unknown model.
    [[nodiscard]] std::vector<VgpuType> types(const std::string& model) const;
    [[nodiscard]] std::optional<std::string> name(const std::string& model, std::uint32_t id) const;

    /// True if there is something that load() did not read and save() did not write.
    [[nodiscard]] bool changed() const { return changed_; }
    /// Writes everything to `path`, mode 0644, as replace_file() does. Two programs that save at
    /// the same time lose what one of them learned; the next look at the cards learns it again.
    [[nodiscard]] Result<void> save(const std::string& path);

private:
    using Types = std::map<std::uint32_t, std::string>;

    std::map<std::string, Types> models_;
    bool changed_ = false;
};

} // namespace vgpu
