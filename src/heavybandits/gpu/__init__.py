"""The same parts on a GPU: a team of lanes plays one run. Extra `gpu`: numba-cuda.

Scalars come from the parts, as on the CPU: every lane runs the text of the loop, of the policy, of
the filter, the radius and the link, on numbers of its own that are the same in all lanes of a team.
What is a loop over arms, vectors, matrices or the plays of a decision on the CPU is divided among
the lanes (arms.py, own_arms.py, regions.py, projections.py, playing.py, medians.py). What has no
such form, but plays an arm many times per decision, is played by one lane alone, by the CPU's text.
"""
