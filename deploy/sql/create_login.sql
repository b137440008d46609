-- The least login for ase-exporter: it reads monitoring tables and configuration, and can change nothing.
-- Replace CHANGE_ME, then run as sa:  isql -U sa -S SERVER -i create_login.sql
-- sp_addlogin works on every version; from 15.7 on `create login` does the same.
use master
go
exec sp_addlogin 'ase_exporter', 'CHANGE_ME', 'master'
go
grant role mon_role to ase_exporter
go
-- Public may read these by default; hardened servers have revoked that. To a role they stay granted.
grant select on sysconfigures to mon_role
go
grant select on syscurconfigs to mon_role
go
grant select on sysprocesses to mon_role
go
grant select on sysusages to mon_role
go
grant select on syslogshold to mon_role
go
