-- Removes what objects.sql creates.
drop table tempdb..exporter_accounts
go
drop table tempdb..exporter_history
go
