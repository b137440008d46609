-- System procedures in T-SQL, run by the simulator's own interpreter. `go` separates them.
-- Its body is Python.
create procedure sp_sysmon @interval char(12) = null, @section char(80) = null, @applmon varchar(30) = null,
    @filter varchar(255) = null, @dumpcounters varchar(30) = null, @option varchar(30) = null
as
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
go
create procedure sp_adduser @loginame varchar(255), @name_in_db varchar(255) = null, @grpname varchar(255) = null as
declare @done varchar(255)
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
select @done = simulate('change_user', 'add', @loginame)
if @@error <> 0 return 1
print 'New user added.'
go
create procedure sp_who @loginame varchar(255) = null, @option varchar(255) = null as
if @loginame is not null and @loginame like '%[^0-9]%' and suser_id(@loginame) is null
begin
    raiserror 17231
    return 1
end
if @@version_number < 15700
    select fid, spid, status, loginame = convert(char(30), isnull(suser_name(suid), ' ')),
        origname = convert(char(30), isnull(suser_name(suid), ' ')), hostname = convert(char(30), hostname),
        blk_spid = convert(char(5), convert(varchar(5), blocked)), dbname = convert(char(30), db_name(dbid)),
        cmd = convert(char(30), cmd), block_xloid
    from master..sysprocesses
    where @loginame is null or suser_name(suid) = @loginame or convert(varchar(10), spid) = @loginame
    order by fid, spid
else
    select fid, spid, status, loginame = convert(char(30), isnull(suser_name(suid), ' ')),
        origname = convert(char(30), isnull(suser_name(suid), ' ')), hostname = convert(char(30), hostname),
        blk_spid = convert(char(5), convert(varchar(5), blocked)), dbname = convert(char(30), db_name(dbid)),
        tempdbname = convert(char(30), 'tempdb'), cmd = convert(char(30), cmd), block_xloid,
        threadpool = convert(char(30), 'syb_default_pool')
    from master..sysprocesses
    where @loginame is null or suser_name(suid) = @loginame or convert(varchar(10), spid) = @loginame
    order by fid, spid
go
create procedure sp_lock @spid1 int = null, @spid2 int = null, @verbose int = 0 as
print 'The class column will display the cursor name for locks associated with a cursor for the current user and the cursor id for other users.'
select l.fid, l.spid, l.loid, locktype = convert(varchar(30), v.name), table_id = l.id, l.page, l.row,
    dbname = convert(varchar(30), db_name(l.dbid)), l.class, context = convert(varchar(15), null)
from master..syslocks l, master..spt_values v
where v.type = 'L' and v.number = l.type and (@spid1 is null or l.spid in (@spid1, @spid2))
go
create procedure sp_showplan @spid int = null, @batch_id int = null, @context_id int = null, @stmt_num int = null, @option varchar(30) = null
as
declare @text varchar(16384), @line varchar(255)
select @text = query_text(@spid)
if @text is null
begin
    select @line = 'There is no active server process for the specified spid value ''' + convert(varchar(10), @spid)
        + '''. Possibly the user process has terminated.'
    print @line
    return 1
end
print 'QUERY PLAN FOR STATEMENT 1 (at line 1).'
print 'STEP 1'
select @line = 'The type of query is ' + upper(substring(@text, 1, charindex(' ', @text + ' ') - 1)) + '.'
print @line
go
create procedure sp_helpdb @dbname varchar(255) = null, @order varchar(20) = null as
if @dbname is not null and db_id(@dbname) is null
begin
    raiserror 17590
    return 1
end
select name = convert(varchar(30), d.name),
    db_size = convert(char(13), str((select isnull(sum(u.size), 0) from master..sysusages u where u.dbid = d.dbid) * 4 / 1024.0, 10, 1) + ' MB'),
    owner = convert(varchar(30), 'sa'), d.dbid,
    created = convert(char(14), str_replace(convert(varchar(20), d.crdate, 107), '  ', ' 0')),
    durability = convert(varchar(10), case d.durability when 6 then 'no_recovery' else 'full' end),
    status = convert(varchar(255), isnull(substring(
        case when d.status & 4 = 4 then ', select into/bulkcopy/pllsort' end
        + case when d.status & 8 = 8 then ', trunc log on chkpt' end
        + case when d.status & 16 = 16 then ', no chkpt on recovery' end
        + case when d.status & 1024 = 1024 then ', read only' end
        + case when d.status & 2048 = 2048 then ', dbo use only' end
        + case when d.status & 4096 = 4096 then ', single user' end
        + case when d.status & 512 = 512 then ', ddl in tran' end
        + case when d.status2 & 16 = 16 then ', abort tran on log full' end
        + case when d.status2 & 32768 = 32768 then ', mixed log and data' end, 3, 255), 'no options set'))
from master..sysdatabases d where d.name = isnull(@dbname, d.name) order by d.name
if @dbname is null return 0
select device_fragments = convert(char(30), isnull((select d.name from master..sysdevices d where d.vdevno = u.vdevno), 'master')),
    size = convert(char(13), str(u.size * 4 / 1024.0, 10, 1) + ' MB'),
    usage = convert(char(20), case when u.segmap = 4 then 'log only' when u.segmap & 4 = 4 then 'data and log' else 'data only' end),
    created = convert(char(25), convert(varchar(25), u.crdate)),
    'free kbytes' = convert(char(16), case when u.segmap = 4 then 'not applicable' else str(u.unreservedpgs * 4, 16) end)
from master..sysusages u where u.dbid = db_id(@dbname) order by u.lstart
select log_info = convert(varchar(80), 'log only free kbytes = ' + convert(varchar(20), sum(unreservedpgs) * 4))
from master..sysusages where dbid = db_id(@dbname) and segmap & 4 = 4 having count(*) > 0
go
create procedure sp_spaceused @objname varchar(255) = null, @list_indices int = 0 as
if @objname = 'syslogs'
begin
    select name = convert(varchar(255), 'syslogs'), total_pages = convert(varchar(15), convert(varchar(12), sum(size) * 4) + ' KB'),
        free_pages = convert(varchar(15), convert(varchar(12), lct_admin('logsegment_freepages', db_id()) * 4) + ' KB'),
        used_pages = convert(varchar(15), convert(varchar(12), sum(size) * 4 - lct_admin('logsegment_freepages', db_id()) * 4) + ' KB'),
        reserved_pages = convert(varchar(15), '0 KB')
    from master..sysusages where dbid = db_id() and segmap & 4 = 4
    return 0
end
if @objname is not null
begin
    if object_id(@objname) is null
    begin
        raiserror 17461
        return 1
    end
    declare @data int, @all int
    select @data = isnull(data_pages(db_id(), object_id(@objname), 0), 0) * 4,
        @all = isnull(reserved_pages(db_id(), object_id(@objname)), 0) * 4
    select name = convert(varchar(255), object_name(object_id(@objname))),
        reserved = convert(varchar(15), convert(varchar(12), @all) + ' KB'),
        data = convert(varchar(15), convert(varchar(12), @data) + ' KB'),
        index_size = convert(varchar(15), convert(varchar(12), @all - @data) + ' KB'), unused = convert(varchar(15), '0 KB')
    return 0
end
select database_name = convert(varchar(255), db_name()),
    database_size = convert(char(13), ltrim(str(sum(size) * 4 / 1024.0, 20, 1)) + ' MB')
from master..sysusages where dbid = db_id()
select reserved = convert(varchar(15), convert(varchar(12), sum(size - unreservedpgs) * 4) + ' KB'),
    unreserved = convert(varchar(15), convert(varchar(12), sum(unreservedpgs) * 4) + ' KB')
from master..sysusages where dbid = db_id()
go
create procedure sp_datatype_info @data_type int = 0, @ODBCVer int = 2 as
select TYPE_NAME = convert(varchar(30), d.name), DATA_TYPE = convert(smallint, d.low),
    'PRECISION' = convert(int, isnull(d.high, case when d.low in (1, 12, -2, -3, -8, -9) then 255 else 2147483647 end)),
    LITERAL_PREFIX = convert(varchar(32), case when d.low in (1, 12, -1, -8, -9, -10, 91, 92, 93) then '''' when d.low in (-2, -3, -4) then '0x' end),
    LITERAL_SUFFIX = convert(varchar(32), case when d.low in (1, 12, -1, -8, -9, -10, 91, 92, 93) then '''' end),
    CREATE_PARAMS = convert(varchar(32), case when d.low in (1, 12, -2, -3) then 'max length' when d.name in ('numeric', 'decimal') then 'precision,scale' end),
    NULLABLE = convert(smallint, case when d.low = -7 then 0 else 1 end),
    CASE_SENSITIVE = convert(smallint, case when d.low in (1, 12, -1, -8, -9, -10) then 1 else 0 end),
    SEARCHABLE = convert(smallint, case when d.low in (-1, -4, -10) then 1 else 3 end),
    UNSIGNED_ATTRIBUTE = convert(smallint, case when d.name like 'unsigned%' or d.name = 'tinyint' then 1 else 0 end),
    MONEY = convert(smallint, case when d.name like '%money' then 1 else 0 end), AUTO_INCREMENT = convert(smallint, 0),
    LOCAL_TYPE_NAME = convert(varchar(128), d.name), MINIMUM_SCALE = convert(smallint, 0), MAXIMUM_SCALE = convert(smallint, 0),
    SQL_DATA_TYPE = convert(smallint, d.low), SQL_DATETIME_SUB = convert(smallint, null), NUM_PREC_RADIX = convert(smallint, null),
    INTERVAL_PRECISION = convert(smallint, null)
from master..spt_values d
where d.type = 'OD' and @data_type in (0, d.low) order by d.low, d.name
go
create procedure sp_addlogin @loginame varchar(30), @passwd varchar(128), @defdb varchar(30) = null,
    @deflanguage varchar(30) = null, @fullname varchar(30) = null, @passwdexp int = null, @minpwdlen int = null,
    @maxfailedlogins int = null, @auth_mech varchar(30) = null
as
declare @done varchar(255)
if proc_role('sso_role') = 0
begin
    raiserror 10353, 'sso_role'
    return 1
end
select @done = simulate('add_login', @loginame, @passwd, @defdb, @fullname)
if @@error <> 0 return 1
print 'Password correctly set.'
print 'Account unlocked.'
print 'New login created.'
go
create procedure sp_locklogin @loginame varchar(30) = null, @locktype varchar(10) = null, @except varchar(30) = null,
    @inactive int = null
as
declare @done varchar(255)
if proc_role('sso_role') = 0
begin
    raiserror 10353, 'sso_role'
    return 1
end
if @loginame is null
begin
    select locked_logins = convert(varchar(30), name) from master..syslogins where status & 2 = 2 order by suid
    return 0
end
select @done = simulate('lock_login', @loginame, lower(@locktype))
if @@error <> 0 return 1
if lower(@locktype) = 'lock' print 'Account locked.' else print 'Account unlocked.'
go
create procedure sp_password @caller_password varchar(128), @new_password varchar(128), @loginame varchar(30) = null as
declare @done varchar(255)
select @done = simulate('set_password', @caller_password, @new_password, @loginame)
if @@error <> 0 return 1
print 'Password correctly set.'
go
create procedure sp_modifylogin @loginame varchar(30), @option varchar(30), @value varchar(255) as
declare @done varchar(255)
if proc_role('sso_role') = 0
begin
    raiserror 10353, 'sso_role'
    return 1
end
select @done = simulate('modify_login', @loginame, lower(@option), @value)
if @@error <> 0 return 1
print 'Option changed.'
go
create procedure sp_displaylogin @loginame varchar(30) = null, @expand_up varchar(20) = null as
declare @suid int, @name varchar(30), @text varchar(255), @role smallint, @expires varchar(255)
select @name = isnull(@loginame, suser_name())
select @expires = simulate('password_expiration', @name)
if @@error <> 0 return 1
if @name <> suser_name() and proc_role('sa_role') = 0 and proc_role('sso_role') = 0
begin
    raiserror 10353, 'sso_role'
    return 1
end
declare @fullname varchar(30), @database varchar(30), @language varchar(30), @status int, @failed int
select @suid = suid, @fullname = fullname, @database = dbname, @language = language, @status = status, @failed = logincount
from master..syslogins where name = @name
print 'Suid: %1!', @suid
print 'Loginame: %1!', @name
print 'Fullname: %1!', @fullname
print 'Default Database: %1!', @database
print 'Default Language: %1!', @language
print 'Auto Login Script: '
print 'Configured Authorization:'
select @role = min(srid) from master..sysloginroles where suid = @suid
while @role is not null
begin
    print '    %1! (default ON)', role_name(@role)
    select @role = min(srid) from master..sysloginroles where suid = @suid and srid > @role
end
select @text = case when @status & 2 = 2 then 'YES' else 'NO' end
print 'Locked: %1!', @text
print 'Password expiration interval: %1!', @expires
print 'Password expired: NO'
print 'Minimum password length: 6'
print 'Maximum failed logins: 0'
print 'Current failed login attempts: %1!', @failed
print 'Authenticate with: ANY'
go
create procedure sp_engine @cmd varchar(30), @number int = null as
declare @done varchar(255), @command varchar(30)
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
select @command = lower(@cmd)
if @command in ('online', 'offline')
begin
    if @number is null
        select @number = max(engine) + case @command when 'online' then 1 else 0 end from master..sysengines
    select @done = simulate('set_engine', @number, @command)
    if @@error <> 0 return 1
    print 'Engine %1! is %2!.', @number, @command
end
else if @command in ('can_offline', 'status', 'shutdown')
    select engine = convert(int, engine), status = convert(varchar(12), 'online') from master..sysengines order by engine
else
begin
    raiserror 17870, @command
    return 1
end
go
create procedure sp_dboption @dbname varchar(255) = null, @optname varchar(30) = null, @optvalue varchar(10) = null,
    @dockpt tinyint = 1
as
declare @option varchar(30), @bit int, @switch varchar(3), @done varchar(255)
create table #known (name varchar(30) not null, bit int not null)
insert #known
select name, number from master..spt_values where type = 'D' and number not in (-1, 32)
union all select 'abort tran on log full', 0 union all select 'mixed log and data', 0 union all select 'async log service', 0 union all select 'delayed commit', 0
union all select 'unique auto_identity index', 0 union all select 'enforce dump tran sequence', 0
union all select 'full logging for all', 0 union all select 'auto identity', 0
if @dbname is null
begin
    print 'Settable database options.
'
    select database_options = convert(varchar(30), name) from #known order by name
    return 0
end
if db_id(@dbname) is null
begin
    raiserror 17421
    return 1
end
delete #known where @optname is null or substring(name, 1, char_length(@optname)) <> lower(@optname)
if (select count(*) from #known) <> 1
begin
    raiserror 17422
    return 1
end
if @optvalue is null or @optvalue not in ('true', 'false')
begin
    raiserror 17422 'Usage: sp_dboption [dbname, optname, {true | false}]'
    return 1
end
select @option = name, @bit = bit, @switch = case @optvalue when 'true' then 'ON' else 'OFF' end from #known
select @done = simulate('set_database_option', @dbname, @option, @bit, @optvalue)
if @@error <> 0 return 1
print 'Database option ''%1!'' turned %2! for database ''%3!''.', @option, @switch, @dbname
print 'Running CHECKPOINT on database ''%1!'' for option ''%2!'' to take effect.', @dbname, @option
go
create procedure sp_configure @configname varchar(255) = null, @configvalue varchar(255) = null,
    @configvalue2 varchar(255) = null, @filename varchar(255) = null
as
declare @count int, @name varchar(255), @section varchar(255), @memory int, @value varchar(255), @done varchar(255)
select name = c.comment, section = p.name, standard = x.defvalue, memory = x.memory_used, configured = c.value,
    run = x.value, unit = x.unit, type = x.type, text = isnull(c.value2, ''), shown = 0
into #options
from master..sysconfigures c, master..syscurconfigs x, master..sysconfigures p
where c.config = x.config and c.comment = x.comment and p.config = c.parent and p.parent = 0 and c.config <> 19
if @configname is null
begin
    print '
Group: Configuration Options
'
    select @section = min(section) from #options
    while @section is not null
    begin
        exec simListing @section
        select @section = min(section) from #options where section > @section
    end
    return 0
end
select @section = min(section) from #options where lower(section) = lower(@configname)
if @section is not null and @configvalue is null
begin
    exec simListing @section
    return 0
end
update #options set shown = 1 where lower(name) = lower(@configname)
if @@rowcount = 0
    update #options set shown = 1 where charindex(lower(@configname), lower(name)) > 0
if @@rowcount = 0 and @configvalue is null
    update #options set shown = 1 where charindex(lower(@configname), lower(section)) > 0
select @count = count(*) from #options where shown = 1
if @count = 0
begin
    raiserror 17410
    return 1
end
if @configvalue is null
begin
    if @count > 1 print 'Configuration option is not unique.
'
    exec simListing
    if @count > 1 return 1
    return 0
end
if @count > 1
begin
    raiserror 17411
    select option_name = convert(varchar(30), name), config_value = configured, run_value = run
    from #options where shown = 1 order by lower(name)
    return 1
end
if proc_role('sa_role') = 0 and proc_role('sso_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
select @name = name, @memory = memory from #options where shown = 1
select @done = simulate('set_option', @name, @configvalue, @configvalue2)
if @@error <> 0 return 1
update #options set configured = c.value, run = x.value, memory = x.memory_used, text = isnull(c.value2, '')
from master..sysconfigures c, master..syscurconfigs x
where shown = 1 and c.comment = @name and c.config <> 19 and x.comment = @name and x.config = c.config
exec simListing
select @value = case type when 'static' then 'must be rebooted before the change in effect since the option is static.'
    else 'need not be rebooted since the option is dynamic.' end from #options where shown = 1
if @@version_number >= 15700
    print 'Configuration option changed. ASE %1!', @value
else
    print 'Configuration option changed. The SQL Server %1!', @value
select @memory = memory - @memory, @value = convert(varchar(12), configured) from #options where shown = 1
if @memory > 0
    print 'Changing the value of ''%1!'' to ''%2!'' increases the amount of memory ASE uses by %3! K.', @name, @value, @memory
else
    print 'Changing the value of ''%1!'' does not increase the amount of memory Adaptive Server uses.', @name
go
-- The rows of a caller's #options: of a section, or those to show.
create procedure simListing @section varchar(255) = null as
if @section is not null print '
Group: %1!
', @section
select name, section, unit, type, standard = case unit when 'name' then space(11) else space(11 - char_length(standard)) + standard end,
    memory = case when memory > 0 and section = 'Meta-Data Caches' then '#' end + convert(varchar(12), memory),
    configured = case unit when 'name' then text else convert(varchar(12), configured) end,
    run = case unit when 'name' then text else convert(varchar(12), run) end
into #lines from #options where section = @section or (@section is null and shown = 1)
if @@version_number >= 15700
    select 'Parameter Name' = convert(varchar(30), name), 'Default' = convert(char(20), standard),
        'Memory Used' = convert(char(11), right(space(11) + memory, 11)),
        'Config Value' = convert(char(20), space(12 - char_length(configured)) + configured),
        'Run Value' = convert(char(20), space(12 - char_length(run)) + run),
        Unit = convert(char(20), unit), Type = convert(char(20), type)
    from #lines order by lower(name)
else
    select 'Parameter Name' = convert(varchar(30), name), 'Default' = convert(char(11), standard),
        'Memory Used' = convert(char(11), right(space(11) + memory, 11)),
        'Config Value' = convert(char(12), space(12 - char_length(configured)) + configured),
        'Run Value' = convert(char(12), space(12 - char_length(run)) + run),
        Unit = convert(char(20), unit), Type = convert(char(10), type)
    from #lines order by lower(name)
go
create procedure sp_monitorconfig @configname varchar(255), @result_tbl_name varchar(255) = null as
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
select name = convert(varchar(30), comment), run = value, active = 0 into #resources from master..syscurconfigs
where config <> 19 and comment in ('audit queue size', 'disk i/o structures', 'max memory', 'max online engines',
    'number of alarms', 'number of aux scan descriptors', 'number of devices', 'number of dtx participants',
    'number of large i/o buffers', 'number of locks', 'number of mailboxes', 'number of messages', 'number of open databases',
    'number of open indexes', 'number of open objects', 'number of open partitions', 'number of remote connections',
    'number of remote logins', 'number of remote sites', 'number of sort buffers', 'number of user connections',
    'number of worker processes', 'permission cache entries', 'procedure cache size')
if lower(@configname) <> 'all'
begin
    if exists (select 1 from #resources where name = lower(@configname))
        delete #resources where name <> lower(@configname)
    delete #resources where charindex(lower(@configname), name) = 0
    if (select count(*) from #resources) = 0
    begin
        raiserror 17410
        return 1
    end
    if (select count(*) from #resources) > 1
    begin
        raiserror 17411
        return 1
    end
end
update #resources set active = case name
    when 'max memory' then (select sum(memory_used) / 2 from master..syscurconfigs where config <> 19)
    when 'max online engines' then (select count(*) from master..monEngine)
    when 'number of devices' then (select count(*) from master..sysdevices)
    when 'number of locks' then (select count(*) from master..syslocks)
    when 'number of open databases' then (select count(*) from master..monOpenDatabases)
    when 'number of open indexes' then (select count(*) from master..monOpenObjectActivity where IndexID > 0)
    when 'number of open objects' then (select count(*) from master..monOpenObjectActivity where IndexID = 0)
    when 'number of open partitions' then (select count(*) from master..monOpenObjectActivity)
    when 'number of user connections' then (select count(*) from master..sysprocesses where suid > 0)
    when 'procedure cache size' then (select isnull(sum(Active), 0) from master..monProcedureCacheModuleUsage)
    else 0 end
print 'Usage information at date and time: %1!.
', convert(varchar(30), getdate())
select Name = name, Num_free = case when run > active then run - active else 0 end, Num_active = active,
    Pct_act = convert(char(6), str(case run when 0 then 0 else 100.0 * active / run end, 6, 2)),
    Max_Used = convert(int, simulate('max_used', name, active)), Reuse_cnt = 0, Instance_Name = @@instancename
into #usage from #resources
if @@version_number >= 15500
    select Name, Num_free, Num_active, Pct_act, Max_Used, Reuse_cnt, Instance_Name from #usage order by Name
else
    select Name, Num_free, Num_active, Pct_act, Max_Used, Reuse_cnt from #usage order by Name
go
create procedure sp_cacheconfig @cachename varchar(255) = null, @parm1 varchar(255) = null, @parm2 varchar(255) = null,
    @parm3 varchar(255) = null, @parm4 varchar(255) = null, @parm5 varchar(255) = null
as
declare @how varchar(255)
if @cachename is not null and coalesce(@parm1, @parm2, @parm3, @parm4, @parm5) is not null
begin
    if proc_role('sa_role') = 0
    begin
        raiserror 10353, 'sa_role'
        return 1
    end
    select @how = simulate('configure_cache', @cachename, @parm1, @parm2, @parm3, @parm4, @parm5)
    if @@error <> 0 return 1
    if @how = 'dynamic'
        print 'The change is completed. The option is dynamic and ASE need not be rebooted for the change to take effect.'
    else
        print 'The change is completed. ASE must be restarted for the change to take effect.'
    return 0
end
select * into #caches from master..syscacheinfo
where @cachename is null or charindex(lower(@cachename), lower(cache_name)) > 0
if not exists (select 1 from #caches)
begin
    raiserror 18037, @cachename
    return 1
end
exec simCaches
go
-- The caller's #caches and their pools.
create procedure simCaches as
declare @id int, @config varchar(12), @run varchar(12), @first varchar(30), @second varchar(30), @third varchar(30)
select 'Cache Name' = convert(varchar(30), cache_name), Status = convert(varchar(9), cache_status),
    Type = convert(varchar(8), cache_type),
    'Config Value' = convert(varchar(12), str(config_size, 9, 2) + ' Mb'),
    'Run Value' = convert(varchar(12), str(run_size, 9, 2) + ' Mb')
from #caches order by cacheid
select @config = str(sum(config_size), 9, 2) + ' Mb', @run = str(sum(run_size), 9, 2) + ' Mb' from #caches
print '                                                 ------------ ------------'
print '                                          Total %1! %2!', @config, @run
select @id = min(cacheid) from #caches
while @id is not null
begin
    print '=========================================================================='
    select @first = cache_name, @second = cache_status, @third = cache_type from #caches where cacheid = @id
    print 'Cache: %1!,   Status: %2!,   Type: %3!', @first, @second, @third
    select @first = ltrim(str(config_size, 20, 2)), @second = ltrim(str(run_size, 20, 2)) from #caches where cacheid = @id
    print '      Config Size: %1! Mb,   Run Size: %2! Mb', @first, @second
    select @first = config_replacement, @second = run_replacement from #caches where cacheid = @id
    print '      Config Replacement: %1!,   Run Replacement: %2!', @first, @second
    select @first = str(config_partitions, 12), @second = str(run_partitions, 12) from #caches where cacheid = @id
    print '      Config Partition: %1!,   Run Partition: %2!', @first, @second
    select 'IO Size' = convert(varchar(8), str(IOBufferSize / 1024, 5) + ' Kb'),
        'Wash Size' = convert(varchar(10), str(WashSize, 7) + ' Kb'),
        'Config Size' = convert(varchar(12), str(AllocatedKB / 1024.0, 9, 2) + ' Mb'),
        'Run Size' = convert(varchar(12), str(AllocatedKB / 1024.0, 9, 2) + ' Mb'),
        'APF Percent' = convert(varchar(11), str(APFPercentage, 6))
    from master..monCachePool where CacheID = @id order by IOBufferSize
    select @id = min(cacheid) from #caches where cacheid > @id
end
go
create procedure sp_poolconfig @cachename varchar(255) = null, @parm1 varchar(255) = null, @parm2 varchar(255) = null,
    @parm3 varchar(255) = null
as
declare @size int, @buffers int, @done varchar(255)
select * into #caches from master..syscacheinfo where @cachename is null or cache_name = @cachename
if not exists (select 1 from #caches)
begin
    raiserror 18037, @cachename
    return 1
end
if @parm1 is null or @cachename is null
begin
    exec simCaches
    return 0
end
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
if not (lower(@parm2) like 'wash%' or lower(@parm2) like '%apf%')
begin
    select @size = convert(int, simulate('kilobytes', @parm1)), @buffers = convert(int, simulate('kilobytes', @parm2))
    if @size is null or @buffers is null
    begin
        raiserror 18135, @parm2, @cachename
        return 1
    end
    select @done = simulate('configure_pool', @cachename, @buffers, @size)
    if @@error <> 0 return 1
end
print 'The change is completed. The option is dynamic and ASE need not be rebooted for the change to take effect.'
go
create procedure sp_bindcache @cachename varchar(255), @dbname varchar(255), @tabname varchar(255) = null,
    @indname varchar(255) = null
as
declare @done varchar(255)
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
if db_id(@dbname) is null
begin
    raiserror 17421
    return 1
end
select @done = simulate('bind_cache', @cachename, @dbname, @tabname)
if @@error <> 0 return 1
go
create procedure sp_unbindcache @dbname varchar(255), @tabname varchar(255) = null, @indname varchar(255) = null as
declare @status int
exec @status = sp_bindcache null, @dbname, @tabname
return @status
go
create procedure sp_helpcache @cachename varchar(255) = null as
declare @size int, @text varchar(30)
select @size = convert(int, simulate('kilobytes', @cachename))
if @size is not null
begin
    select @text = ltrim(str(@size * 0.0525 / 1024, 20, 2))
    print '%1!Mb of overhead memory will be needed to manage a cache of size %2!', @text, @cachename
    return 0
end
select 'Cache Name' = convert(varchar(30), cache_name),
    'Config Size' = convert(varchar(12), ltrim(str(config_size, 20, 2)) + ' Mb'),
    'Run Size' = convert(varchar(12), ltrim(str(run_size, 20, 2)) + ' Mb'),
    Overhead = convert(varchar(12), ltrim(str(overhead, 20, 2)) + ' Mb')
from master..syscacheinfo where @cachename is null or cache_name = @cachename order by cacheid
print '
Cache Binding Information:
'
select 'Cache Name' = convert(varchar(30), CacheName),
    'Entity Name' = convert(varchar(255), DBName + case when ObjectName is not null then '.dbo.' + ObjectName end),
    Type = convert(varchar(20), case when ObjectName is null then 'database' else 'table' end),
    'Index Name' = convert(varchar(255), null), Status = convert(varchar(8), 'V')
from master..simCacheBindings where @cachename is null or CacheName = @cachename
