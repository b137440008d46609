-- Waits for the lock that block.sql holds.
update tempdb..exporter_accounts set balance = balance - 1 where id = 50
go
