#include "content.hpp"

std::string greeting(const std::string& name) { return "Hello, " + name + "!"; }

std::string seconds(unsigned count) { return std::to_string(count) + (count == 1 ? " second" : " seconds"); }
