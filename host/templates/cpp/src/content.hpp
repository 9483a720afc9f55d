// What this provider has to say. There is no WebAssembly here: `make test` tests it on your own machine.
#pragma once

#include <string>

// What `{{scheme}}://sentence` holds. Change it and save while `wharf dev` runs: whoever is subscribed reads the new one.
inline constexpr const char* SENTENCE = "The tide is coming in.";

// What `{{scheme}}://greeting/{name}` and `{{scheme}}://seconds` hold.
std::string greeting(const std::string& name);
std::string seconds(unsigned count);
