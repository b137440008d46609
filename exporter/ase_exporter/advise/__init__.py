"""Advice on hot spinlocks: live counters and configuration in, statements with arithmetic and predictions out.

evidence = gather(query, catalogue, seconds=30)  # two reads of a server (evidence.py)
advice = advise(evidence)                        # ranked findings (advice.py), by remedies.yaml
print(markdown(advice))                          # report.py
"""
