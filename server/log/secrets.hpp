#pragma once

#include <string>
#include <string_view>

namespace sm::log {

/// The value with secrets replaced by [secret]: passwords in URIs ("://user:password@"), what follows "Bearer" and
/// "Basic", the rest of the line after "Authorization:", and the values of password=, passwd=, token= and secret=. A
/// second net: nobody should log such a text in the first place, but error messages of libraries and headers of clients
/// hold them. What holds none of these comes back as it is, without a copy in `storage`.
std::string_view mask_secrets(std::string_view value, std::string& storage);

}  // namespace sm::log
