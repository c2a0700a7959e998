#pragma once

/// Opens and closes a region whose functions may use the named instruction sets (style.md 5): the build has
/// no -m flags, so that no shared inline function is ever compiled for a CPU that may lack them. Includes
/// stand before the region; inside are only raw pointers, spans and intrinsics.
#define WEIR_PRAGMA(text) _Pragma(#text)

#ifdef __clang__
#define WEIR_TARGET_BEGIN(isa) \
    WEIR_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define WEIR_TARGET_END WEIR_PRAGMA(clang attribute pop)
#else
#define WEIR_TARGET_BEGIN(isa)     \
    WEIR_PRAGMA(GCC push_options)  \
    WEIR_PRAGMA(GCC optimize("O3,no-trapping-math")) \
    WEIR_PRAGMA(GCC target(isa))
#define WEIR_TARGET_END WEIR_PRAGMA(GCC pop_options)
#endif
