#pragma once

#include "tests/simulator/node.hpp"

#include <cstdint>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace vgpu::simulator {

enum class Operation { stat, open, read, write, readdir, readlink };

/// One kind of failure that a test ordered.
struct Fault {
    enum class Data { any, zero, other }; ///< of a write: "0", or anything else

    std::string
        device;       ///< name of the device's directory, "*" for any, "" when only the path counts
    std::string file; ///< the path's last parts, or what counters call the file
    Operation operation = Operation::read;
    Data data = Data::any;
    int error = 0;
    std::uint64_t left = 1;
    bool after = false; ///< the operation is done all the same
    static constexpr auto always = std::numeric_limits<std::uint64_t>::max();
};

class Faults {
public:
    struct Hit {
        int error = 0;
        bool after = false;
    };

    /// Orders a fault; one for the same place and operation is replaced, `left` 0 only removes it.
    void set(Fault fault);
    void clear() { faults_.clear(); }
    /// Uses up one of the ordered failures of this operation, if there is one.
    std::optional<Hit> take(Operation operation, const Node& node, std::string_view path,
                            std::string_view data = {});
    [[nodiscard]] const std::list<Fault>& all() const { return faults_; }

private:
    std::list<Fault> faults_;
};

std::string_view to_string(Operation operation);

} // namespace vgpu::simulator
