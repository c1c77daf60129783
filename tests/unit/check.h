// The counting checks of the C harness, for C++.
#pragma once

extern "C" {
#include "../harness/harness.h"
}
