"""Metrics of the Linux host (`dbhost_`): huge pages, THP, NUMA, TLB, perf events, database processes.

Data flow: `files` reads /proc and /sys, parsers turn text into structures, one collector per subsystem turns
those into metric families, `HostCollectors` runs the collectors. Parsers take text, so that tests can feed them
that of any kernel.

    declared   labels, help and source of every metric (metrics.csv)
    files      read kernel files; parsers that several collectors share
    kernel     collectors of huge pages, THP, NUMA and the TLB
    process    collector of database processes; uses process_finder (which processes form a server) and smaps
               (background reader of smaps and numa_maps)
    perf       collector of CPU events, counted by a child process
    sizing state settings ase_memory
               for the command `hugepages`: huge pages required, what the host has, and what to set
"""
