// Where the data that come with the program lie.
#pragma once

#include <string>

namespace isochron::cli {

// `given` if it is not empty, else ISOCHRON_DATA, else beside the command when installed or in the source tree when
// not. FileError when they are nowhere.
std::string data_folder(const std::string& given = {});

}  // namespace isochron::cli
