"""The recordings of vLLM 0.32 replayed against the real binary."""

import pytest

import replay

COUNTS = {}


@pytest.fixture(scope="module")
def recorded(server):
    yield replay.Server(server.url)
    print("\nconformance: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(COUNTS.items())))


@pytest.mark.parametrize("case", replay.load_cases(), ids=lambda case: case["id"])
def test_case(recorded, case):
    verdict, why = replay.run_case(recorded, case)
    COUNTS[verdict] = COUNTS.get(verdict, 0) + 1
    if verdict == "pending":
        pytest.skip(f"pending: {why}")
    assert verdict != "FAIL", why
