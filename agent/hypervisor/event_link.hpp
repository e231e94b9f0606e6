#pragma once

#include "agent/core/ids.hpp"

#include <functional>
#include <memory>
#include <string>

namespace vgpu {

/// A connection to libvirt for events only, opened again with back-off whenever it is lost. An
/// event means "look at this domain again", no more: libvirt's events can be late, doubled or lost.
class EventLink {
public:
    struct Callbacks {
        /// A domain was defined, started, stopped, ... Called on libvirt's event thread: must not
        /// block, and must not call libvirt.
        std::function<void(const Uuid& domain)> changed;
        /// The connection is there (an empty text), or why it is not. After each loss everything
        /// has to be looked at again. Called on the link's thread: must not block for long.
        std::function<void(const std::string& trouble)> state;
    };

    /// Starts connecting, on threads of its own. Does not block. One in a process: libvirt's event
    /// loop is global and cannot be ended.
    EventLink(std::string uri, Callbacks callbacks);
    EventLink(const EventLink&) = delete;
    EventLink& operator=(const EventLink&) = delete;
    /// No callback begins after this. A call of libvirt's that does not come back is left alone.
    ~EventLink();

    struct State; ///< for the implementation's own callbacks

private:
    std::shared_ptr<State> state_;
};

} // namespace vgpu
