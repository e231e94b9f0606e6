#include "xml/markup.hpp"

#include "xml/domain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu::xml {

namespace {

constexpr std::string_view space = " \t\r\n";
constexpr auto npos = std::string_view::npos;

std::size_t skip_space(std::string_view text, std::size_t at) {
    return std::min(text.find_first_not_of(space, at), text.size());
}

/// Behind the next `mark`, or the end of the text.
std::size_t behind(std::string_view text, std::string_view mark, std::size_t from) {
    const auto at = text.find(mark, from);
    return at == npos ? text.size() : at + mark.size();
}

bool read_attribute(std::string_view text, std::size_t at, AttributeSpan& attribute) {
    attribute.begin = at;
    attribute.name_end = std::min(text.find_first_of(" \t\r\n=/>", at), text.size());
    at = skip_space(text, attribute.name_end);
    if (attribute.name_end == attribute.begin || at == text.size() || text[at] != '=') {
        return false;
    }
    at = skip_space(text, at + 1);
    if (at == text.size() || (text[at] != '"' && text[at] != '\'')) {
        return false;
    }
    attribute.value_begin = at + 1;
    attribute.value_end = text.find(text[at], at + 1);
    return attribute.value_end != npos;
}

class Outliner {
public:
    explicit Outliner(std::string_view text) : text_(text) {}

    Result<std::vector<ElementSpan>> run();

private:
    Result<bool> start_tag(std::size_t at);
    bool end_tag(std::size_t at);
    [[nodiscard]] tl::unexpected<Error> refuse(std::size_t at, std::string_view what) const;

    std::string_view text_;
    std::size_t next_ = 0;
    std::size_t namespaces_ = 0;
    TagSpan tag_;
    std::vector<ElementSpan> spans_;
    std::vector<std::size_t> open_;
};

tl::unexpected<Error> Outliner::refuse(std::size_t at, std::string_view what) const {
    return fail(ErrorCode::invalid,
                fmt::format("the domain XML {} (line {})", what, line_at(text_, at)));
}

Result<bool> Outliner::start_tag(std::size_t at) {
    if (!read_tag(text_, at, tag_)) {
        return false;
    }
    if (tag_.attributes.size() > max_attributes_per_element) {
        return refuse(at, fmt::format("has an element with more than {} attributes",
                                      max_attributes_per_element));
    }
    for (const AttributeSpan& attribute : tag_.attributes) {
        namespaces_ += text_.substr(attribute.begin).starts_with("xmlns") ? 1U : 0U;
    }
    if (namespaces_ > max_namespace_declarations) {
        return refuse(at,
                      fmt::format("declares more than {} namespaces", max_namespace_declarations));
    }
    if (spans_.size() == max_elements) {
        return refuse(at, fmt::format("has more than {} elements", max_elements));
    }
    // A self-closed element is as deep as one with an end tag.
    if (open_.size() >= static_cast<std::size_t>(max_domain_xml_depth)) {
        return refuse(at, fmt::format("nests elements more than {} deep", max_domain_xml_depth));
    }
    if (!tag_.self_closed) {
        open_.push_back(spans_.size());
    }
    spans_.push_back({at, tag_.end, tag_.end, tag_.end});
    next_ = tag_.end;
    return true;
}

bool Outliner::end_tag(std::size_t at) {
    const auto last = text_.find('>', at);
    if (open_.empty() || last == npos) {
        return false;
    }
    ElementSpan& span = spans_[open_.back()];
    open_.pop_back();
    span.close_begin = at;
    span.end = next_ = last + 1;
    return true;
}

Result<std::vector<ElementSpan>> Outliner::run() {
    while (true) {
        const auto at = text_.find('<', next_);
        if (at == npos) {
            return std::move(spans_);
        }
        const std::string_view rest = text_.substr(at);
        if (rest.starts_with("<!--")) {
            next_ = behind(text_, "-->", at + 4);
        } else if (rest.starts_with("<![CDATA[")) {
            next_ = behind(text_, "]]>", at + 9);
        } else if (rest.starts_with("<!")) {
            return refuse(at, "has a document type declaration, which is refused because it can "
                              "define entities; libvirt writes none");
        } else if (rest.starts_with("<?")) {
            next_ = behind(text_, "?>", at + 2);
        } else if (rest.starts_with("</")) {
            if (!end_tag(at)) {
                return std::move(spans_);
            }
        } else {
            VGPU_TRY_ASSIGN(const bool well_formed, start_tag(at));
            if (!well_formed) {
                return std::move(spans_);
            }
        }
    }
}

} // namespace

bool read_tag(std::string_view text, std::size_t begin, TagSpan& tag) {
    tag.attributes.clear();
    tag.begin = begin;
    tag.name_end = std::min(text.find_first_of(" \t\r\n/>", begin + 1), text.size());
    if (tag.name_end == begin + 1) {
        return false;
    }
    std::size_t at = tag.name_end;
    while (true) {
        at = skip_space(text, at);
        const std::string_view rest = text.substr(at);
        if (rest.starts_with(">") || rest.starts_with("/>")) {
            tag.self_closed = rest.front() == '/';
            tag.end = at + (tag.self_closed ? 2 : 1);
            return true;
        }
        AttributeSpan attribute;
        if (!read_attribute(text, at, attribute)) {
            return false;
        }
        tag.attributes.push_back(attribute);
        at = attribute.value_end + 1;
    }
}

Result<std::vector<ElementSpan>> outline(std::string_view text) {
    return Outliner(text).run();
}

std::size_t line_at(std::string_view text, std::size_t offset) {
    return 1 + static_cast<std::size_t>(
                   std::ranges::count(text.substr(0, std::min(offset, text.size())), '\n'));
}

} // namespace vgpu::xml
