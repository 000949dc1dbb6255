"""The same parts on a GPU: a team of lanes plays one run. Extra `gpu`: numba-cuda.

Scalars come from the parts, as on the CPU: every lane runs the text of the loop, of the policy, of
the filter, the radius and the link, on numbers of its own that are the same in all lanes of a team.
What is a loop over arms, vectors or matrices on the CPU is divided among the lanes (arms.py,
regions.py and projections.py). Policies with many plays per decision are played by one lane each,
by the CPU's text alone.
"""
