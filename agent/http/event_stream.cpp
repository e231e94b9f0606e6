#include "agent/http/event_stream.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace vgpu::http {

namespace {

std::string one_line(std::string_view text) {
    std::string out;
    std::copy_if(text.begin(), text.end(), std::back_inserter(out),
                 [](char c) { return c != '\r' && c != '\n' && c != '\0'; });
    return out;
}

} // namespace

std::string format_event(std::string_view id, const Event& event) {
    std::string out;
    if (!id.empty()) {
        out.append("id: ").append(one_line(id)).append("\n");
    }
    if (!event.name.empty()) {
        out.append("event: ").append(one_line(event.name)).append("\n");
    }
    // CR, LF and CRLF each end a line of the protocol: data with a bare CR could forge a field.
    std::string_view rest = event.data;
    while (true) {
        const auto end = rest.find_first_of("\r\n");
        out.append("data: ").append(rest.substr(0, end)).append("\n");
        if (end == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(rest.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
    }
    return out.append("\n");
}

EventStream::EventStream(std::string epoch, Capacity capacity)
    : epoch_(std::move(epoch)), capacity_(capacity) {}

std::string EventStream::id_of(std::uint64_t position) const {
    return epoch_ + "." + std::to_string(position);
}

void EventStream::publish(const Event& event) {
    std::vector<std::shared_ptr<std::function<void()>>> wakes;
    {
        const std::lock_guard lock(mutex_);
        auto entry = std::make_shared<Entry>(Entry{event, format_event(id_of(end_), event)});
        bytes_ += entry->text.size();
        entries_.push_back(std::move(entry));
        ++end_;
        while (entries_.size() > 1 &&
               (entries_.size() > capacity_.events || bytes_ > capacity_.bytes)) {
            bytes_ -= entries_.front()->text.size();
            entries_.pop_front();
        }
        std::erase_if(readers_, [](const auto& reader) { return reader.expired(); });
        for (const auto& reader : readers_) {
            if (auto wake = reader.lock()) {
                wakes.push_back(std::move(wake));
            }
        }
    }
    for (const auto& wake : wakes) {
        (*wake)();
    }
}

EventStream::Start EventStream::resume(std::string_view last_event_id) const {
    const std::lock_guard lock(mutex_);
    if (last_event_id.empty()) {
        return {end_, false};
    }
    const std::string prefix = epoch_ + ".";
    if (!last_event_id.starts_with(prefix)) {
        return {end_, true};
    }
    last_event_id.remove_prefix(prefix.size());
    std::uint64_t seen = 0;
    const char* const last = last_event_id.data() + last_event_id.size();
    const auto [end, error] = std::from_chars(last_event_id.data(), last, seen);
    const bool known =
        error == std::errc() && end == last && seen < end_ && seen + 1 >= end_ - entries_.size();
    return known ? Start{seen + 1, false} : Start{end_, true};
}

std::uint64_t EventStream::oldest() const {
    const std::lock_guard lock(mutex_);
    return end_ - entries_.size();
}

EventStream::Batch EventStream::read(std::uint64_t& position, const EventFilter& filter,
                                     std::size_t max_bytes) const {
    std::vector<std::shared_ptr<const Entry>> found;
    {
        const std::lock_guard lock(mutex_);
        const std::uint64_t first = end_ - entries_.size();
        if (position < first) {
            return {{}, true};
        }
        std::size_t bytes = 0;
        for (; position < end_ && bytes < max_bytes; ++position) {
            found.push_back(entries_[static_cast<std::size_t>(position - first)]);
            bytes += found.back()->text.size();
        }
    }
    Batch batch;
    for (const auto& entry : found) {
        if (!filter || filter(entry->event)) {
            batch.text += entry->text;
        }
    }
    return batch;
}

std::string EventStream::newest_id() const {
    const std::lock_guard lock(mutex_);
    return id_of(end_ - 1);
}

std::shared_ptr<void> EventStream::subscribe(std::function<void()> wake) {
    auto reader = std::make_shared<std::function<void()>>(std::move(wake));
    const std::lock_guard lock(mutex_);
    std::erase_if(readers_, [](const auto& other) { return other.expired(); });
    readers_.push_back(reader);
    return reader;
}

} // namespace vgpu::http
