-- The switches that ase-exporter's default metrics need; `ase-exporter check` names those still off.
-- Run as sa. All take effect at once. Spinlock monitoring costs about 1 % on a busy server.
exec sp_configure 'enable monitoring', 1
go
exec sp_configure 'enable spinlock monitoring', 1
go
exec sp_configure 'wait event timing', 1
go
exec sp_configure 'execution time monitoring', 1
go
exec sp_configure 'enable stmt cache monitoring', 1
go
exec sp_configure 'per object statistics active', 1
go
exec sp_configure 'errorlog pipe max messages', 200
go
exec sp_configure 'errorlog pipe active', 1
go
