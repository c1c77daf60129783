"""The gate: how long the library takes for the shapes that people run, beside its peers and beside an older build."""

SECTIONS = ("grid", "small", "common", "rare")
