#include "agent/cli/operation_wait.hpp"

#include "agent/cli/interrupt_notice.hpp"
#include "agent/cli/progress_line.hpp"
#include "agent/http/problem.hpp"
#include "agent/http/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace vgpu::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int accepted = 202;

/// One question, and how long the daemon may leave them unanswered while an operation runs.
constexpr seconds one_answer(10);
constexpr seconds longest_silence(60);

/// Short at first, since most operations take less than a second.
class Pauses {
public:
    void wait() {
        std::this_thread::sleep_for(next_);
        next_ = std::min(next_ * 2, longest);
    }

private:
    static constexpr milliseconds longest{500};
    milliseconds next_{20};
};

/// What became of an operation can be asked, by its id, of the daemon that began it only.
Error unknown_now(const ChangeRequest& action, const std::string& why) {
    return Error(ErrorCode::unavailable,
                 fmt::format("{} while it was {}: what became of that is not known; {}", why,
                             printable(action.doing), action.again));
}

/// The result, nullopt while it runs, or why there is none.
Result<std::optional<Json>> outcome_of(const Json& operation) {
    const std::string state = text_member(operation, "state");
    if (state == "running") {
        return std::optional<Json>();
    }
    if (state == "done") {
        return std::optional<Json>(member(operation, "result"));
    }
    if (state == "failed") {
        return fail(error_of_problem(member(operation, "problem")));
    }
    return fail(ErrorCode::io, fmt::format("virt-vgpud says that the operation is \"{}\", which "
                                           "this version of virt-vgpu does not know",
                                           printable(state, 40)));
}

class Wait {
public:
    Wait(const DaemonClient& daemon, const ChangeRequest& action, std::string id)
        : daemon_(daemon), action_(action), id_(std::move(id)) {}

    Result<Json> result() {
        Pauses pauses;
        while (true) {
            pauses.wait();
            VGPU_TRY_ASSIGN(auto outcome, look());
            if (outcome) {
                return *std::move(outcome);
            }
            const auto spent = std::chrono::duration_cast<seconds>(steady_clock::now() - began_);
            progress_.show(fmt::format("virt-vgpu: virt-vgpud is {} ({} s)",
                                       printable(action_.doing, 80), spent.count()));
        }
    }

private:
    Result<std::optional<Json>> look() {
        http::ClientRequest request;
        request.target = "/v1/operations/" + http::encode_segment(id_);
        const auto answer = daemon_.ask(request, Deadline::in(one_answer));
        if (answer) {
            silent_since_ = steady_clock::now();
            return outcome_of(answer->body);
        }
        const Error& error = answer.error();
        if (is_not_running(error)) {
            return fail(unknown_now(action_, "virt-vgpud ended"));
        }
        if (error.code() == ErrorCode::not_found) {
            return fail(unknown_now(action_, "virt-vgpud was restarted"));
        }
        if (error.code() == ErrorCode::denied ||
            steady_clock::now() - silent_since_ > longest_silence) {
            return fail(error.hint(fmt::format("virt-vgpud may still be {}: `virt-vgpu operations "
                                               "{}` says so once it answers",
                                               printable(action_.doing), printable(id_, 60))));
        }
        return std::optional<Json>(); // busy, or about to end: the next look tells
    }

    const DaemonClient& daemon_;
    const ChangeRequest& action_;
    std::string id_;
    ProgressLine progress_;
    steady_clock::time_point began_ = steady_clock::now();
    steady_clock::time_point silent_since_ = began_;
};

} // namespace

Error error_of_problem(const Json& problem) {
    const std::int64_t status = number_member(problem, "status");
    constexpr int unknown = 500;
    constexpr std::int64_t largest = 599;
    return http::error_of(status > 0 && status <= largest ? static_cast<int>(status) : unknown,
                          "application/problem+json", problem.dump());
}

Result<Json> carry_out(const DaemonClient& daemon, ChangeRequest action) {
    InterruptNotice notice("interrupted; `virt-vgpu operations` says whether virt-vgpud has begun "
                           "with `" +
                           action.command + "`, which it then finishes");
    action.request.headers.emplace_back("Prefer", "respond-async");
    const auto answer = daemon.ask(action.request, Deadline::in(seconds(30)));
    if (!answer) {
        const ErrorCode code = answer.error().code();
        const bool broken_off = code == ErrorCode::io || code == ErrorCode::timeout;
        return fail(broken_off ? answer.error().hint(action.again) : answer.error());
    }
    if (answer->status != accepted) {
        return answer->body;
    }
    const std::string id = text_member(answer->body, "id");
    if (id.empty()) {
        return fail(ErrorCode::io, "virt-vgpud accepted it and did not say under which id; see "
                                   "`virt-vgpu operations`");
    }
    notice.say(fmt::format("interrupted; virt-vgpud goes on {}, see `virt-vgpu operations {}`",
                           action.doing, printable(id, 60)));
    return Wait(daemon, action, id).result();
}

} // namespace vgpu::cli
