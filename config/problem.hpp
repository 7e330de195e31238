#pragma once

#include <string>
#include <vector>

namespace sm::config {

/// A place in a file; both count from 1, 0 = unknown.
struct Position {
    int line = 0;
    int column = 0;
};

/// One thing that is wrong with a configuration file and what to do about it. Never holds the value of a secret.
struct Problem {
    std::string file;
    int line = 0;    ///< from 1; 0 = the file as a whole
    int column = 0;  ///< from 1; 0 = the line as a whole
    std::string message;
    std::string remedy;  ///< may be empty
};
using Problems = std::vector<Problem>;

/// "file:line:column: message (remedy)"; parts that are not known are left out.
std::string to_string(const Problem& problem);

/// By file, then by place; keeps the order of problems of one place.
void sort_by_place(Problems& problems);

}  // namespace sm::config
