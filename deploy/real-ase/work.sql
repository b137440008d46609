-- One round of the load; several connections repeat it. Transactions on few rows contend for locks and for the log, the
-- join reads pages of a cache again and again, and the temporary table takes and frees space of tempdb.
declare @i int, @account int
select @i = 1
while @i <= 10
begin
    select @account = (@i * 7 + @@spid) % 10 + 1
    begin transaction
    update tempdb..exporter_accounts set balance = balance - 1 where id = @account
    insert tempdb..exporter_history (account, amount, at) values (@account, -1, getdate())
    commit transaction
    select @i = @i + 1
end
go
select a.branch, sum(a.balance) from tempdb..exporter_accounts a, tempdb..exporter_accounts b
where a.branch = b.branch group by a.branch
go
create table #work (id int not null, balance int not null)
insert #work (id, balance) select id, balance from tempdb..exporter_accounts
delete #work where id % 2 = 0
drop table #work
go
delete tempdb..exporter_history where at < dateadd(ss, -5, getdate())
go
