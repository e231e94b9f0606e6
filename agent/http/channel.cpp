#include "agent/http/channel.hpp"

#include "agent/http/client_connection.hpp"

#include <utility>

namespace vgpu::http {

void Channel::deliver(std::function<void(ClientConnection&)> answer) {
    mailbox_->post([state = state_, connection = connection_, bytes = body_bytes_,
                    answer = std::move(answer)] {
        if (const auto found = state.lock()) {
            --found->counters.requests_waiting;
            found->counters.body_bytes -= bytes;
        }
        if (const auto found = connection.lock()) {
            answer(*found);
        }
    });
}

void Channel::respond(Response response) {
    deliver([exchange = exchange_,
             held = std::make_shared<Response>(std::move(response))](ClientConnection& connection) {
        connection.respond(exchange, std::move(*held));
    });
}

void Channel::stream(StreamResponse response) {
    if (response.events == nullptr) {
        respond(to_response(protocol_problem(500, "unanswered", "there are no events to send")));
        return;
    }
    // On the loop it may be too late to look at the stream: whoever lends it may end it first.
    deliver([exchange = exchange_, events = response.events->history(),
             held = std::make_shared<StreamResponse>(std::move(response))](
                ClientConnection& connection) {
        connection.stream(exchange, std::move(*held), events);
    });
}

} // namespace vgpu::http
