"""The same parts on a GPU: several lanes of a warp play one run.

Scalars come from the parts, as on the CPU: every lane runs the text of the loop, of the policy, of
the filter, the radius and the link, on numbers of its own that are the same in all lanes of a team.
What is a loop over arms, vectors, matrices or the plays of a decision on the CPU is divided among
the lanes (arms.py, own_arms.py, confidence_region.py, projection.py, play.py, medians.py). A policy
without such a form that plays an arm many times per decision is played by one lane alone, by the
CPU's text.
"""
