#include "xml/text_edits.hpp"

#include <algorithm>

namespace vgpu::xml {

namespace {

constexpr std::string_view blank = " \t";

/// The text behind the last line break of a separator: the indentation alone.
std::string_view indentation(std::string_view separator) {
    const auto line = separator.rfind('\n');
    return line == separator.npos ? separator : separator.substr(line + 1);
}

} // namespace

void TextEdits::replace(std::size_t begin, std::size_t end, std::string text) {
    edits_.push_back({begin, end, std::move(text)});
}

std::string TextEdits::apply(std::string_view text) const {
    std::vector<const Edit*> ordered;
    ordered.reserve(edits_.size());
    for (const Edit& edit : edits_) {
        ordered.push_back(&edit);
    }
    std::ranges::stable_sort(ordered, {}, &Edit::begin);
    std::string out;
    std::size_t done = 0;
    for (const Edit* edit : ordered) {
        out.append(text.substr(done, edit->begin - done)).append(edit->text);
        done = edit->end;
    }
    return out.append(text.substr(done));
}

std::string escaped(std::string_view value) {
    std::string out;
    for (const char c : value) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        case '\'':
            out += "&apos;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

std::string indented(std::string_view block) {
    std::string out = "  ";
    for (const char c : block) {
        out += c;
        if (c == '\n') {
            out += "  ";
        }
    }
    return out;
}

TagEdit::TagEdit(const Document& document, const xmlNode* element, TextEdits& edits)
    : document_(document), element_(element), edits_(edits) {
    static_cast<void>(read_tag(document.text(), document.span(element).open_begin, tag_));
}

const AttributeSpan* TagEdit::find(std::string_view name) const {
    const auto found = std::ranges::find_if(tag_.attributes, [&](const AttributeSpan& span) {
        return document_.text().substr(span.begin, span.name_end - span.begin) == name;
    });
    return found == tag_.attributes.end() ? nullptr : &*found;
}

void TagEdit::set(const char* name, std::string_view value) {
    if (attribute(element_, name) != value) {
        overwrite(name, value);
    }
}

void TagEdit::overwrite(const char* name, std::string_view value) {
    if (const AttributeSpan* span = find(name)) {
        edits_.replace(span->value_begin, span->value_end, escaped(value));
        return;
    }
    const bool first = tag_.attributes.empty();
    const char quote = first ? '\'' : document_.text()[tag_.attributes.front().value_begin - 1];
    const std::size_t at = first ? tag_.name_end : tag_.attributes.back().value_end + 1;
    edits_.insert(at, std::string(" ").append(name).append("=") + quote + escaped(value) + quote);
}

void TagEdit::remove(const char* name) {
    const AttributeSpan* span = find(name);
    if (span == nullptr) {
        return;
    }
    const auto before = document_.text().find_last_not_of(" \t\r\n", span->begin - 1);
    edits_.remove(before + 1, span->value_end + 1);
}

ElementEdit::ElementEdit(const Document& document, const xmlNode* domain, TextEdits& edits)
    : document_(document), edits_(edits), unit_("  ") {
    if (const xmlNode* first = first_element(domain)) {
        const std::string_view outer = indentation(separator(domain));
        const std::string_view inner = indentation(separator(first));
        if (inner.size() > outer.size() && inner.starts_with(outer)) {
            unit_ = inner.substr(outer.size());
        }
    }
}

/// The line break and indentation directly before an offset; empty if something else is on its
/// line.
std::string_view ElementEdit::separator(std::size_t begin) const {
    const std::string_view before = document_.text().substr(0, begin);
    const auto last = before.find_last_not_of(blank);
    if (last == before.npos || before[last] != '\n') {
        return {};
    }
    const bool return_too = last > 0 && before[last - 1] == '\r';
    return before.substr(return_too ? last - 1 : last);
}

std::string_view ElementEdit::separator(const xmlNode* element) const {
    return separator(document_.span(element).open_begin);
}

std::string ElementEdit::child_separator(const xmlNode* parent) const {
    if (const xmlNode* first = first_element(parent)) {
        return std::string(separator(first));
    }
    const std::string_view own = separator(parent);
    return own.empty() ? std::string() : std::string(own) + unit_;
}

std::string ElementEdit::render(std::string_view block, std::string_view separator) const {
    std::string out;
    while (!block.empty()) {
        const auto end = std::min(block.find('\n'), block.size());
        const std::string_view line = block.substr(0, end);
        const auto spaces = line.find_first_not_of(' ');
        out += separator;
        for (std::size_t level = 0; !separator.empty() && level < spaces / 2; ++level) {
            out += unit_;
        }
        out += line.substr(spaces);
        block.remove_prefix(std::min(end + 1, block.size()));
    }
    return out;
}

void ElementEdit::append_child(const xmlNode* parent, std::string_view block) {
    const ElementSpan& span = document_.span(parent);
    const std::string children = child_separator(parent);
    std::string text = render(block, children);
    if (span.self_closed()) {
        TagSpan tag;
        static_cast<void>(read_tag(document_.text(), span.open_begin, tag));
        const auto name = document_.text().substr(tag.begin + 1, tag.name_end - tag.begin - 1);
        text.append(separator(parent)).append("</").append(name).append(">");
        edits_.replace(span.open_end - 2, span.open_end, ">" + text);
        return;
    }
    const std::string_view closing = separator(span.close_begin);
    if (closing.empty() && !children.empty()) {
        text += separator(parent);
    }
    edits_.insert(std::max(span.open_end, span.close_begin - closing.size()), std::move(text));
}

void ElementEdit::insert_before(const xmlNode* sibling, std::string_view block) {
    const std::string_view own = separator(sibling);
    edits_.insert(document_.span(sibling).open_begin - own.size(), render(block, own));
}

void ElementEdit::insert_after(const xmlNode* sibling, std::string_view block) {
    edits_.insert(document_.span(sibling).end, render(block, separator(sibling)));
}

void ElementEdit::replace(const xmlNode* element, std::string_view block) {
    const ElementSpan& span = document_.span(element);
    const std::string_view own = separator(element);
    edits_.replace(span.open_begin - own.size(), span.end, render(block, own));
}

void ElementEdit::remove(const xmlNode* element) {
    const ElementSpan& span = document_.span(element);
    edits_.remove(span.open_begin - separator(element).size(), span.end);
}

} // namespace vgpu::xml
