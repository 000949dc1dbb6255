"""Run the same parts on a GPU: a team of several lanes of a warp plays one run.

A lane is one thread of a warp. The parts compute scalars as on the CPU: every lane runs the code of
the loop, the policy, the filter, the radius and the link. Each lane has its own copy of the
scalars, and the copies are equal in all lanes of a team. The lanes divide what is a loop over arms,
vectors, matrices or the plays of a decision on the CPU (arms.py, own_arms.py,
confidence_region.py, projection.py, play.py, medians.py). If a policy without such a form plays an
arm many times per decision, one lane alone plays it with the CPU's code.
"""
