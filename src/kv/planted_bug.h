#pragma once

namespace weir {

/// Mistakes that the simulation must find (style.md 6). They exist only in a test program that is
/// compiled with WEIR_PLANTED_BUGS (src/sim/planted_test.cpp); elsewhere PLANTED() is the constant
/// false and leaves no code.
#ifdef WEIR_PLANTED_BUGS
enum class PlantedBug {
    kNone,
    kBlockFreedTwice,
    kFreedHeadFirst,
    kHitNotReferenced,
    kEvictedStaysFindable,
    kUncomputedCached,
    kVictimStaysFindable,
    kSaltIgnored,
    kParentIgnored,
    kLastTokenCached,
    kWrongVictim,
    kBudgetOffByOne,
    kSeqsOffByOne,
    kLostAbort,
    kStaleSlot,
    kPreemptedKeepsComputed,
    kPreemptedToBack,
    kHeadOvertaken,
    kAdmitsAfterPreemption,
    kLengthOffByOne,
    kHitsCountedAgain,
    kNumBugs,
};
extern PlantedBug planted_bug;  // Set by the test program that defines it.
#define PLANTED(bug) (planted_bug == PlantedBug::bug)
#else
#define PLANTED(bug) false
#endif

}  // namespace weir
