// The include file of this folder's files: one half for the program, one for the kernels. See docs/new-element.md.
#pragma once
#include "primitives/rows.hpp"
#ifdef EMT_KERNEL
#include "primitives/vector.hpp"
#else
#include "primitives/admittances.hpp"
#include "primitives/companion.hpp"
#include "primitives/lane_now.hpp"
#include "primitives/lane_start.hpp"
#include "primitives/waveform.hpp"
#endif
