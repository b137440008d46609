-- Tables of the load, in tempdb alone: nothing else of the server is touched, and its next start removes them.
-- Works unchanged on 12.5 to 16.1.
if object_id('tempdb..exporter_accounts') is not null drop table tempdb..exporter_accounts
go
if object_id('tempdb..exporter_history') is not null drop table tempdb..exporter_history
go
create table tempdb..exporter_accounts (id int not null, branch int not null, balance int not null, filler char(200) not null)
go
create table tempdb..exporter_history (account int not null, amount int not null, at datetime not null)
go
declare @i int
select @i = 1
while @i <= 50
begin
    insert tempdb..exporter_accounts (id, branch, balance, filler) values (@i, @i % 5, 1000, 'x')
    select @i = @i + 1
end
go
