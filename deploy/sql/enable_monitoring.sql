-- The options that ase-exporter's default metrics need; `ase-exporter check` names those still off.
-- Run as sa. All take effect at once. Spinlock monitoring costs about 1 % on a busy server.
-- An option that this version of ASE does not have is skipped: setting it would print Msg 17410.
if exists (select 1 from master..sysconfigures where name = 'enable monitoring')
    exec sp_configure 'enable monitoring', 1
go
if exists (select 1 from master..sysconfigures where name = 'enable spinlock monitoring')
    exec sp_configure 'enable spinlock monitoring', 1
go
if exists (select 1 from master..sysconfigures where name = 'wait event timing')
    exec sp_configure 'wait event timing', 1
go
if exists (select 1 from master..sysconfigures where name = 'execution time monitoring')
    exec sp_configure 'execution time monitoring', 1
go
if exists (select 1 from master..sysconfigures where name = 'enable stmt cache monitoring')
    exec sp_configure 'enable stmt cache monitoring', 1
go
if exists (select 1 from master..sysconfigures where name = 'per object statistics active')
    exec sp_configure 'per object statistics active', 1
go
if exists (select 1 from master..sysconfigures where name = 'errorlog pipe max messages')
    exec sp_configure 'errorlog pipe max messages', 200
go
if exists (select 1 from master..sysconfigures where name = 'errorlog pipe active')
    exec sp_configure 'errorlog pipe active', 1
go
