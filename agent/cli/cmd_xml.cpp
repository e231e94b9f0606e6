#include "agent/cli/command.hpp"
#include "agent/cli/input_file.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/xml_report.hpp"

#include <memory>

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(Its requests, and its host devices. Needs neither libvirt nor a GPU.)";

int inspect(const CommonOptions& options, const std::string& file) {
    const auto text = read_input(file, xml::max_domain_xml_bytes);
    if (!text) {
        return report(text.error());
    }
    const auto domain = xml::read_domain(*text);
    if (!domain) {
        return report(domain.error().in(file == "-" ? "standard input" : file));
    }
    return print(options.json ? domain_json(*domain) : domain_text(*domain, wants_colour()));
}

} // namespace

void add_xml(CLI::App& app, Program& program) {
    CLI::App* xml = app.add_subcommand("xml", "Work with domain XML");
    CLI::App* command = add_command(*xml, program, "inspect",
                                    "Show what virt-vgpu reads in a domain's XML", details);
    const auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "File with the XML of one domain; - is standard input")
        ->required();
    command->callback([&program, file] {
        program.run = [&program, file] { return inspect(program.options, *file); };
    });
}

} // namespace vgpu::cli
