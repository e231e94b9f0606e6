#pragma once

#include <string>
#include <string_view>

namespace vgpu {

/// What kind of failure it is; decisions are made on this, never on text.
enum class ErrorCode {
    invalid,     ///< malformed input: XML, configuration, address, file content
    not_found,   ///< the named thing is not there
    busy,        ///< held by somebody: a lock, an open handle, a claim
    conflict,    ///< the state read a moment ago has changed
    denied,      ///< the kernel or our own rules do not allow it
    unavailable, ///< no capacity, no driver, no daemon: may work another time
    io,          ///< the kernel or the driver refused, see error_number()
    corrupt,     ///< a file of ours that cannot be understood
    timeout,     ///< the deadline passed
    unsupported, ///< this host, libvirt or device cannot do it
};

/// A failure: what for decisions (code, errno), and one line of text for people.
/// The text never ends in a newline and never contains one.
class Error {
public:
    Error(ErrorCode code, std::string text, int error_number = 0);

    /// A failed system call: "OPERATION OBJECT: reason". The code is derived from the errno value.
    static Error system(int error_number, std::string_view operation, std::string_view object);

    ErrorCode code() const { return code_; }
    /// errno of the system call that failed, 0 if none did.
    int error_number() const { return error_number_; }
    const std::string& text() const { return text_; }
    /// The device that stands in the way (PCI address or mdev UUID), empty if none is known.
    const std::string& device() const { return device_; }
    /// The UUID of the domain whose claim stands in the way, empty if none is known.
    const std::string& holder() const { return holder_; }

    /// The same failure seen from further out: "CONTEXT: text".
    Error in(std::string_view context) const;
    /// The same failure with what to do about it: "text; HINT".
    Error hint(std::string_view hint) const;
    /// The same failure with the device it is about, unless that is known already.
    Error on(std::string_view device) const;
    /// The same failure with the domain that has the device.
    Error held_by(std::string_view domain_uuid) const;

private:
    ErrorCode code_;
    int error_number_;
    std::string text_;
    std::string device_;
    std::string holder_;
};

/// Stable lower-case name of a code, e.g. "not_found", for JSON and logs.
std::string_view to_string(ErrorCode code);

/// "Input/output error" for EIO; never an empty string.
std::string errno_text(int error_number);

/// Makes untrusted text safe for one line of a log or an error: control characters become '?',
/// and it is cut to `limit` bytes with "..." at the end.
std::string printable(std::string_view text, std::size_t limit = 200);

} // namespace vgpu
