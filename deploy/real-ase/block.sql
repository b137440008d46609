-- Takes a lock and keeps it: whoever runs blocked.sql waits until this connection ends or rolls back.
begin transaction
update tempdb..exporter_accounts set balance = balance + 1 where id = 50
go
