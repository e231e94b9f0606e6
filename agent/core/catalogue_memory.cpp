#include "agent/core/catalogue_memory.hpp"

#include "agent/core/file_io.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace vgpu {

namespace {

constexpr int version = 1;
constexpr std::size_t most_models = 32;
constexpr std::size_t most_types = 512;
constexpr std::size_t longest_name = 96; // NVML's largest buffer for a name
constexpr std::size_t longest_model = 64;
/// More than all models with all types and the longest names, all escaped, can take.
constexpr std::size_t largest_file = std::size_t{4} * 1024 * 1024;

bool is_plain(std::string_view text, std::size_t limit) {
    return !text.empty() && text.size() <= limit &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

bool is_plain(const VgpuType& type) {
    return type.id != 0 && is_plain(type.name, longest_name);
}

std::optional<VgpuType> read_type(const nlohmann::json& json) {
    const auto id = json.is_object() ? json.find("id") : json.end();
    const auto name = json.is_object() ? json.find("name") : json.end();
    if (id == json.end() || name == json.end() || !id->is_number_unsigned() || !name->is_string()) {
        return std::nullopt;
    }
    const auto number = id->get<std::uint64_t>();
    if (number > std::numeric_limits<std::uint32_t>::max()) {
        return std::nullopt;
    }
    VgpuType type{static_cast<std::uint32_t>(number), name->get<std::string>()};
    return is_plain(type) ? std::optional(std::move(type)) : std::nullopt;
}

std::optional<std::vector<VgpuType>> read_types(const nlohmann::json& json) {
    if (!json.is_array() || json.size() > most_types) {
        return std::nullopt;
    }
    std::vector<VgpuType> types;
    for (const nlohmann::json& entry : json) {
        auto type = read_type(entry);
        if (!type) {
            return std::nullopt;
        }
        types.push_back(*std::move(type));
    }
    return types;
}

Error corrupt(const std::string& path, std::string_view what) {
    return Error(ErrorCode::corrupt, fmt::format("{}: {}", path, what));
}

/// The "models" object of a file of our version.
Result<nlohmann::json> read_models(const std::string& path, const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) {
        return fail(corrupt(path, "no JSON object"));
    }
    const auto found = json.find("version");
    if (found == json.end() || *found != version) {
        return fail(corrupt(path, fmt::format("no catalogue of version {}", version)));
    }
    const auto models = json.find("models");
    if (models == json.end() || !models->is_object() || models->size() > most_models) {
        return fail(corrupt(
            path, fmt::format("\"models\" is no object of at most {} entries", most_models)));
    }
    return *models;
}

} // namespace

Result<CatalogueMemory> CatalogueMemory::load(const std::string& path) {
    CatalogueMemory memory;
    const auto text = read_small_file(path, largest_file);
    if (!text) {
        if (text.error().code() == ErrorCode::not_found) {
            return memory;
        }
        return fail(text.error());
    }
    VGPU_TRY_ASSIGN(const nlohmann::json models, read_models(path, *text));
    for (const auto& [model, entries] : models.items()) {
        const auto types = read_types(entries);
        if (!is_plain(model, longest_model) || !types) {
            return fail(corrupt(
                path, fmt::format("the types of model \"{}\" are broken", printable(model, 60))));
        }
        memory.learn(model, *types);
    }
    memory.changed_ = false;
    return memory;
}

void CatalogueMemory::learn(const std::string& model, const std::vector<VgpuType>& seen) {
    const bool known = models_.contains(model);
    if (seen.empty() || !is_plain(model, longest_model) ||
        (!known && models_.size() >= most_models)) {
        return;
    }
    const Types before = known ? models_[model] : Types();
    Types now;
    for (const VgpuType& type : seen) {
        if (is_plain(type) && now.size() < most_types) {
            now.insert_or_assign(type.id, type.name);
        }
    }
    for (const auto& [id, name] : before) {
        const bool renumbered = std::any_of(
            now.begin(), now.end(), [&name](const auto& entry) { return entry.second == name; });
        if (!renumbered && now.size() < most_types) {
            now.try_emplace(id, name);
        }
    }
    if (now != before) {
        models_[model] = std::move(now);
        changed_ = true;
    }
}

std::vector<VgpuType> CatalogueMemory::types(const std::string& model) const {
    std::vector<VgpuType> types;
    if (const auto found = models_.find(model); found != models_.end()) {
        for (const auto& [id, name] : found->second) {
            types.push_back({id, name});
        }
    }
    return types;
}

std::optional<std::string> CatalogueMemory::name(const std::string& model, std::uint32_t id) const {
    if (const auto found = models_.find(model); found != models_.end()) {
        if (const auto type = found->second.find(id); type != found->second.end()) {
            return type->second;
        }
    }
    return std::nullopt;
}

Result<void> CatalogueMemory::save(const std::string& path) {
    nlohmann::json models = nlohmann::json::object();
    for (const auto& [model, types] : models_) {
        nlohmann::json entries = nlohmann::json::array();
        for (const auto& [id, name] : types) {
            entries.push_back({{"id", id}, {"name", name}});
        }
        models[model] = std::move(entries);
    }
    const nlohmann::json json = {{"version", version}, {"models", std::move(models)}};
    VGPU_TRY(replace_file(path, json.dump() + "\n", 0644));
    changed_ = false;
    return {};
}

} // namespace vgpu
