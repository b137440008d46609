-- The least login for ase-exporter: it reads monitoring tables and configuration, and can change nothing.
-- Replace CHANGE_ME, then run as sa:  isql -U sa -S SERVER -i create_login.sql
-- Works unchanged on 12.5 to 16.1: sp_addlogin and sp_modifylogin do what `create login` and `alter login` do from
-- 15.7 on. If your password policy forbids a statement, the others take effect all the same.
use master
go
exec sp_addlogin 'ase_exporter', 'CHANGE_ME', 'master'
go
-- The password never expires, whatever 'systemwide password expiration' says: an expired one would end monitoring.
-- sp_modifylogin takes the days as text.
exec sp_modifylogin 'ase_exporter', 'passwd expiration', '0'
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
