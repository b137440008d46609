-- System procedures in T-SQL, run by the simulator's own interpreter. `go` separates them.
create procedure sp_autoformat @fulltabname varchar(1000), @selectlist varchar(8000) = null,
    @whereclause varchar(8000) = null, @orderby varchar(8000) = null
as exec ('select ' + isnull(@selectlist, '*') + ' from ' + @fulltabname + ' ' + @whereclause + ' ' + @orderby)
go
create procedure sp_activeroles @option varchar(20) = null as
if @option = 'expand_down'
    select 'Role Name' = convert(varchar(30), name), 'Parent Role Name' = convert(varchar(30), null),
        'Level' = convert(smallint, 1)
    from master..syssrvroles where proc_role(name) = 1 order by srid
else
    select 'Role Name' = convert(varchar(30), name) from master..syssrvroles where proc_role(name) = 1 order by srid
go
create procedure sp_displayroles @grantee varchar(30) = null, @mode varchar(20) = null as
if @grantee is not null and not exists (select 1 from master..syslogins where name = @grantee)
begin
    raiserror 17231
    return 1
end
select 'Role Name' = convert(varchar(30), r.name)
from master..syssrvroles r, master..sysloginroles l
where r.srid = l.srid and l.suid = suser_id(isnull(@grantee, suser_name())) order by r.srid
go
create procedure sp_help_resource_limit @name varchar(255) = null, @appname varchar(255) = null as
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
select name = convert(varchar(30), null), appname = convert(varchar(30), null), rangename = convert(varchar(255), null),
    rangeid = convert(smallint, null), limitid = convert(smallint, null), limitvalue = convert(int, null),
    enforced = convert(tinyint, null), action = convert(tinyint, null), scope = convert(tinyint, null)
where 1 = 2
go
create procedure sp_tempdb @command varchar(30) = null, @name varchar(255) = null as
select 'Tempdb Groups' = convert(varchar(30), 'default')
select 'Database' = convert(varchar(30), 'tempdb'), GroupName = convert(varchar(30), 'default')
select 'Login' = convert(varchar(30), null), Application = convert(varchar(30), null), 'Group' = convert(varchar(30), null),
    'Database' = convert(varchar(30), null), Hardness = convert(varchar(10), null)
where 1 = 2
go
create procedure sp_version @script_file varchar(255) = null, @option varchar(20) = null as
declare @level varchar(30)
select @level = substring(@@version, charindex('/', @@version) + 1, 30)
select @level = substring(@level, 1, charindex('/', @level) - 1)
select 'Script' = convert(varchar(30), 'installmaster'), 'Version' = convert(varchar(255), @level),
    'Status' = convert(varchar(10), 'Complete')
union all
select convert(varchar(30), 'installmodel'), convert(varchar(255), @level), convert(varchar(10), 'Complete')
go
create procedure sp_helpserver @server varchar(255) = null as
if @server is not null and not exists (select 1 from master..sysservers where srvname = @server)
begin
    raiserror 17270, @server
    return 1
end
select name = convert(varchar(30), srvname), network_name = convert(varchar(255), srvnetname),
    status = convert(varchar(255), case when srvid = 0 then ' ' else 'timeouts' end),
    id = convert(char(4), convert(varchar(4), srvid)), cost = convert(float, 10)
from master..sysservers where srvname = isnull(@server, srvname) order by srvid
go
create procedure sp_helpsort as
print 'Sort Order Description'
select 'Sort Order' = convert(varchar(255), 'Character Set = 190, utf8')
union all select convert(varchar(255), '    Unicode 3.1 UTF-8 Character Set')
union all select convert(varchar(255), 'Sort Order = 50, bin_utf8')
union all select convert(varchar(255), '    Binary sort order for the ISO 10646-1, UTF-8 multibyte encoding.')
go
create procedure sp_server_info @attribute_id int = null as
select attribute_id = v.low, attribute_name = convert(varchar(60), v.name),
    attribute_value = convert(varchar(255), case v.low when 2 then @@version when 1 then 'Adaptive Server Enterprise'
        when 10 then 'owner' when 11 then 'table' when 16 then 'MIXED' when 18 then 'charset=utf8 sort_order=bin_utf8'
        when 12 then '255' when 13 then '255' when 14 then '255' when 15 then '255' when 17 then '2' when 19 then 'Y'
        when 20 then 'Y' when 100 then '5' when 22 then '255' else 'N' end)
from master..spt_values v where v.type = 'SI' and v.low = isnull(@attribute_id, v.low) order by v.low
go
create procedure sp_helplanguage @language varchar(30) = null as
select langid = convert(smallint, langid), dateformat = convert(char(3), dateformat), datefirst = convert(tinyint, datefirst),
    name = convert(varchar(30), 'us_english'), alias = convert(varchar(30), alias)
from master..syslanguages
go
create procedure sp_helpuser @name_in_db varchar(255) = null as
if @name_in_db is not null and not exists (select 1 from sysusers where name = @name_in_db and uid between 1 and 16383)
begin
    raiserror 17330
    return 1
end
select Users_name = convert(varchar(30), u.name), ID_in_db = u.uid, Group_name = convert(varchar(30), 'public'),
    Login_name = convert(varchar(30), l.name)
from sysusers u left join master..syslogins l on u.suid = l.suid
where u.uid between 1 and 16383 and u.name = isnull(@name_in_db, u.name) order by u.uid
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
create procedure sp_dropuser @name_in_db varchar(255) as
declare @done varchar(255)
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
select @done = simulate('change_user', 'drop', @name_in_db)
if @@error <> 0 return 1
print 'User has been dropped from current database.'
go
create procedure sp_helpsegment @segname varchar(255) = null as
select segment, name = convert(varchar(255), name), status from syssegments
where name = isnull(@segname, name) order by segment
go
create procedure sp_helplog as
declare @device varchar(30), @line varchar(255)
select @device = d.name from master..sysusages u, master..sysdevices d
where u.dbid = db_id() and u.segmap & 4 = 4 and u.vdevno = d.vdevno
    and u.lstart = (select min(lstart) from master..sysusages where dbid = db_id() and segmap & 4 = 4)
select @line = 'In database ''' + db_name() + ''', the log starts on device ''' + isnull(@device, 'master') + '''.'
print @line
go
create procedure sp_transactions @option varchar(30) = null, @value varchar(255) = null as
select xactkey, type = convert(varchar(11), 'Local'), coordinator = convert(varchar(10), 'None'), starttime,
    state = convert(varchar(17), 'Begun'), connection = convert(varchar(9), 'Attached'), dbid = masterdbid, spid, loid,
    failover = convert(varchar(26), 'Resident Tx'), srvname, namelen, xactname
from master..systransactions
go
create procedure sp_helpthreshold @segname varchar(255) = null as
select 'segment name' = convert(varchar(255), 'logsegment'), 'free pages' = convert(int, sum(size) / 100),
    'last chance?' = convert(tinyint, 1), 'threshold procedure' = convert(varchar(255), 'sp_thresholdaction')
from master..sysusages where dbid = db_id() and segmap = 4 and isnull(@segname, 'logsegment') = 'logsegment'
having count(*) > 0
go
create procedure sp_procxmode @procname varchar(255) = null, @tranmode varchar(30) = null as
if @procname is not null and object_id(@procname) is null
begin
    raiserror 17461
    return 1
end
if @tranmode is null
    select 'procedure name' = convert(varchar(255), name), 'user name' = convert(varchar(30), 'dbo'),
        'transaction mode' = convert(varchar(30), 'Unchained')
    from sysobjects where type = 'P' and id = isnull(object_id(@procname), id) order by name
else if lower(@tranmode) not in ('unchained', 'anymode')
    raiserror 20999, 'sp_procxmode chained'
go
create procedure sp_helprotect @name varchar(255) = null, @username varchar(255) = null, @grant varchar(30) = null as
select grantor = convert(varchar(30), 'dbo'), grantee = convert(varchar(30), 'public'), type = convert(varchar(10), 'Grant'),
    action = convert(varchar(30), 'Select'), object = convert(varchar(255), name), 'column' = convert(varchar(255), 'All'),
    grantable = convert(varchar(10), 'FALSE')
from sysobjects where type = 'S' and name like 'sys%' and name = isnull(@name, name) order by name
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
create procedure sp_showplan @spid int = null, @batch_id int = null output, @context_id int = null output,
    @stmt_num int = null output, @option varchar(30) = null
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
create procedure sp_helpdevice @devname varchar(255) = null as
if @devname is not null and not exists (select 1 from master..sysdevices where name = @devname)
begin
    raiserror 17471
    return 1
end
select device_name = convert(varchar(30), name), physical_name = convert(varchar(127), phyname),
    description = convert(varchar(255), 'file system device, special, dsync off, directio on, physical disk, '
        + ltrim(str((high - low + 1) * 2 / 1024.0, 20, 2)) + ' MB'),
    status, cntrltype, vdevno, vpn_low = low, vpn_high = high
from master..sysdevices where name = isnull(@devname, name) order by name
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
create procedure sp_help @objname varchar(255) = null as
if @objname is null
begin
    select Name = convert(varchar(255), name), Owner = convert(varchar(30), 'dbo'),
        Object_type = convert(varchar(32), case type when 'S' then 'system table' when 'U' then 'user table'
            when 'P' then 'stored procedure' else 'SQL function' end)
    from sysobjects order by name
    return 0
end
if @objname like '%.%.%' and @objname not like '.%' and @objname not like db_name() + '.%'
begin
    raiserror 17460
    return 1
end
if not exists (select 1 from sysobjects where id = object_id(@objname))
begin
    raiserror 17461
    return 1
end
select Name = convert(varchar(255), name), Owner = convert(varchar(30), 'dbo'),
    Object_type = convert(varchar(32), case type when 'S' then 'system table' when 'U' then 'user table'
        when 'P' then 'stored procedure' else 'SQL function' end),
    Object_status = convert(varchar(255), ' -- none --'), Create_date = crdate
from sysobjects where id = object_id(@objname)
select Column_name = convert(varchar(255), c.name), Type = convert(varchar(30), t.name), Length = convert(int, c.length),
    Prec = convert(tinyint, c.prec), Scale = convert(tinyint, case when c.prec is null then null else isnull(c.scale, 0) end),
    Nulls = convert(bit, c.status & 8), Not_compressed = convert(bit, 0), Default_name = convert(varchar(255), null),
    Rule_name = convert(varchar(255), null), Access_Rule_name = convert(varchar(255), null),
    Computed_Column_object = convert(varchar(255), null), 'Identity' = convert(bit, c.status & 128)
from syscolumns c, systypes t
where c.id = object_id(@objname) and c.usertype = t.usertype order by c.colid
exec sp_helpindex @objname
print 'No defined keys for this object.'
go
create procedure sp_helpindex @objname varchar(255) as
if not exists (select 1 from sysobjects where id = object_id(@objname))
begin
    raiserror 17461
    return 1
end
if not exists (select 1 from sysindexes where id = object_id(@objname) and indid between 1 and 254)
begin
    print 'Object does not have any indexes.'
    return 0
end
declare @place int
select name, indid, status, crdate, columns = convert(varchar(255), null)
into #indexes from sysindexes where id = object_id(@objname) and indid between 1 and 254
select @place = 1
while exists (select 1 from simKeys where id = object_id(@objname) and seq = @place)
begin
    update #indexes set columns = columns + case when columns is not null then ', ' end + k.name
    from simKeys k where k.id = object_id(@objname) and k.keyname = #indexes.name and k.seq = @place
    select @place = @place + 1
end
select index_name = convert(varchar(255), name), index_keys = columns,
    index_description = convert(varchar(68), case when indid = 1 then 'clustered' else 'nonclustered' end
        + case when status & 2 = 2 then ', unique' end),
    index_max_rows_per_page = convert(smallint, 0), index_fillfactor = convert(smallint, 0),
    index_reservepagegap = convert(smallint, 0), index_created = crdate, index_local = convert(varchar(12), 'Global Index')
from #indexes order by indid
go
create procedure sp_helptext @objname varchar(255), @grouping_num int = null, @numlines int = null,
    @printopts varchar(256) = null
as
if not exists (select 1 from syscomments where id = object_id(@objname))
begin
    raiserror 17461
    return 1
end
select '# Lines of Text' = count(*) from syscomments where id = object_id(@objname)
select text = convert(varchar(255), text) from syscomments where id = object_id(@objname) order by colid
go
create procedure sp_databases as
select database_name = convert(varchar(30), d.name),
    database_size = (select convert(int, isnull(sum(u.size), 0) * 4) from master..sysusages u where u.dbid = d.dbid),
    remarks = convert(varchar(254), null)
from master..sysdatabases d order by d.name
go
create procedure sp_tables @table_name varchar(771) = null, @table_owner varchar(32) = null,
    @table_qualifier varchar(32) = null, @table_type varchar(100) = null
as
if @table_qualifier is not null and @table_qualifier <> db_name() and @table_qualifier <> '%'
begin
    raiserror 18039
    return 1
end
if @table_qualifier = '%' and @table_name = ''
begin
    select table_qualifier = convert(varchar(30), name), table_owner = convert(varchar(30), null),
        table_name = convert(varchar(255), null), table_type = convert(varchar(12), null), remarks = convert(varchar(254), null)
    from master..sysdatabases order by name
    return 0
end
select table_qualifier = convert(varchar(30), db_name()), table_owner = convert(varchar(30), user_name(uid)),
    table_name = convert(varchar(255), name),
    table_type = convert(varchar(12), case type when 'S' then 'SYSTEM TABLE' else 'TABLE' end), remarks = convert(varchar(254), null)
from sysobjects
where type in ('S', 'U') and name like isnull(@table_name, '%') and user_name(uid) like isnull(@table_owner, '%')
    and (@table_type is null or charindex('''' + case type when 'S' then 'SYSTEM TABLE' else 'TABLE' end + '''', @table_type) > 0)
order by table_type, table_name
go
create procedure sp_columns @table_name varchar(771), @table_owner varchar(32) = null, @table_qualifier varchar(32) = null,
    @column_name varchar(771) = null, @ODBCVer int = 2
as
if @table_qualifier is not null and @table_qualifier <> db_name()
begin
    raiserror 18039
    return 1
end
select table_qualifier = convert(varchar(30), db_name()), table_owner = convert(varchar(30), user_name(o.uid)),
    table_name = convert(varchar(255), o.name), column_name = convert(varchar(255), c.name),
    data_type = convert(smallint, d.low), type_name = convert(varchar(30), t.name),
    precision = convert(int, isnull(c.prec, isnull(d.high, c.length))), length = convert(int, c.length),
    scale = convert(smallint, c.scale), radix = convert(smallint, case when d.low in (2, 3, 4, 5, -5, -6, 8, 7) then 10 end),
    nullable = convert(smallint, case when c.status & 8 = 8 then 1 else 0 end), remarks = convert(varchar(254), null),
    ss_data_type = convert(smallint, c.type), colid = convert(smallint, c.colid), column_def = convert(varchar(255), null),
    sql_data_type = convert(smallint, d.low), sql_datetime_sub = convert(smallint, null),
    char_octet_length = convert(int, case when d.low in (1, 12, -1, -2, -3, -4) then c.length end),
    ordinal_position = convert(int, c.colid),
    is_nullable = convert(varchar(3), case when c.status & 8 = 8 then 'YES' else 'NO' end)
from sysobjects o, syscolumns c, systypes t, master..spt_values d
where o.id = c.id and c.usertype = t.usertype and d.type = 'OD' and d.name = t.name and o.type in ('S', 'U')
    and o.name like isnull(@table_name, '%') and user_name(o.uid) like isnull(@table_owner, '%') and c.name like isnull(@column_name, '%')
order by o.name, c.colid
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
create procedure sp_pkeys @table_name varchar(255), @table_owner varchar(32) = null, @table_qualifier varchar(255) = null as
select table_qualifier = convert(varchar(255), db_name()), table_owner = convert(varchar(255), 'dbo'),
    table_name = convert(varchar(255), object_name(k.id)), column_name = convert(varchar(255), k.name), key_seq = k.seq
from simKeys k where k.id = object_id(@table_name) and k.kind = 'P' order by k.seq
go
create procedure sp_statistics @table_name varchar(255), @table_owner varchar(32) = null,
    @table_qualifier varchar(255) = null, @index_name varchar(255) = '%', @is_unique char(1) = 'N',
    @accuracy char(1) = 'Q'
as
select table_qualifier = convert(varchar(255), db_name()), table_owner = convert(varchar(255), 'dbo'),
    table_name = convert(varchar(255), name), non_unique = convert(smallint, null), index_qualifier = convert(varchar(255), null),
    index_name = convert(varchar(255), null), type = convert(smallint, 0), seq_in_index = convert(smallint, null),
    column_name = convert(varchar(255), null), collation = convert(char(1), null),
    cardinality = convert(int, row_count(db_id(), id)), pages = convert(int, data_pages(db_id(), id, 0))
from sysobjects where id = object_id(@table_name) and type in ('S', 'U')
union all
select convert(varchar(255), db_name()), convert(varchar(255), 'dbo'), convert(varchar(255), object_name(k.id)),
    convert(smallint, case when k.kind = 'N' then 1 else 0 end), convert(varchar(255), object_name(k.id)),
    convert(varchar(255), k.keyname), convert(smallint, case when k.clustered = 1 then 1 else 3 end), k.seq,
    convert(varchar(255), k.name), convert(char(1), 'A'), convert(int, row_count(db_id(), k.id)), convert(int, 1)
from simKeys k
where k.id = object_id(@table_name) and k.kind in ('P', 'U', 'N') and k.keyname like @index_name
    and (@is_unique <> 'Y' or k.kind <> 'N')
go
create procedure sp_special_columns @table_name varchar(255), @table_owner varchar(32) = null,
    @table_qualifier varchar(255) = null, @col_type char(1) = 'R', @scope char(1) = 'T', @nullable char(1) = 'U',
    @ODBCVer int = 2
as
select scope = convert(smallint, 0), column_name = convert(varchar(255), c.name), data_type = convert(smallint, d.low),
    type_name = convert(varchar(30), t.name), precision = convert(int, isnull(c.prec, isnull(d.high, c.length))),
    length = convert(int, c.length), scale = convert(smallint, c.scale), pseudo_column = convert(smallint, 1)
from simKeys k, syscolumns c, systypes t, master..spt_values d
where k.id = object_id(@table_name) and @col_type = 'R' and c.id = k.id and c.name = k.name and c.usertype = t.usertype
    and d.type = 'OD' and d.name = t.name
    and k.keyname in (select i.name from sysindexes i where i.id = k.id and i.indid =
        (select min(j.indid) from sysindexes j where j.id = k.id and j.indid > 0 and j.status & 2 = 2)) order by k.seq
go
create procedure sp_fkeys @pktable_name varchar(255) = null, @pktable_owner varchar(32) = null,
    @pktable_qualifier varchar(255) = null, @fktable_name varchar(255) = null, @fktable_owner varchar(32) = null,
    @fktable_qualifier varchar(255) = null
as
if @pktable_name is null and @fktable_name is null
begin
    raiserror 18043
    return 1
end
select pktable_qualifier = convert(varchar(255), db_name()), pktable_owner = convert(varchar(255), 'dbo'),
    pktable_name = convert(varchar(255), k.parent), pkcolumn_name = convert(varchar(255), k.parentcolumn),
    fktable_qualifier = convert(varchar(255), db_name()), fktable_owner = convert(varchar(255), 'dbo'),
    fktable_name = convert(varchar(255), object_name(k.id)), fkcolumn_name = convert(varchar(255), k.name), key_seq = k.seq,
    update_rule = convert(smallint, 1), delete_rule = convert(smallint, 1), fk_name = convert(varchar(255), k.keyname),
    pk_name = convert(varchar(255), null)
from simKeys k
where k.kind = 'F' and k.parent like isnull(@pktable_name, '%') and object_name(k.id) like isnull(@fktable_name, '%')
order by k.id, k.keyname, k.seq
go
create procedure sp_stored_procedures @sp_name varchar(771) = null, @sp_owner varchar(32) = null,
    @sp_qualifier varchar(32) = null
as
select procedure_qualifier = convert(varchar(30), db_name()), procedure_owner = convert(varchar(30), 'dbo'),
    procedure_name = convert(varchar(257), name + ';1'), num_input_params = -1, num_output_params = -1,
    num_result_sets = -1, remarks = convert(varchar(254), null), procedure_type = convert(smallint, 1)
from sysobjects where type = 'P' and name like isnull(@sp_name, '%') order by name
go
create procedure sp_sproc_columns @procedure_name varchar(771) = '%', @procedure_owner varchar(32) = null,
    @procedure_qualifier varchar(32) = null, @column_name varchar(771) = null, @ODBCVer int = 2
as
select procedure_qualifier = convert(varchar(30), db_name()), procedure_owner = convert(varchar(30), 'dbo'),
    procedure_name = convert(varchar(257), object_name(p.id) + ';1'), column_name = convert(varchar(255), p.name),
    column_type = convert(smallint, p.output), data_type = convert(smallint, d.low), type_name = convert(varchar(30), p.type),
    precision = p.length, length = p.length, scale = convert(smallint, p.scale), radix = convert(smallint, 10),
    nullable = convert(smallint, 1), remarks = convert(varchar(254), null), ss_data_type = convert(smallint, t.type),
    colid = p.seq
from simParameters p, master..spt_values d, systypes t
where d.type = 'OD' and d.name = p.type and t.name = p.type and object_name(p.id) like @procedure_name
    and p.name like isnull(@column_name, '%') order by p.id, p.seq
go
create procedure sp_table_privileges @table_name varchar(771), @table_owner varchar(32) = null,
    @table_qualifier varchar(32) = null
as
select table_qualifier = convert(varchar(30), db_name()), table_owner = convert(varchar(30), 'dbo'),
    table_name = convert(varchar(255), o.name), grantor = convert(varchar(30), 'dbo'), grantee = convert(varchar(30), 'dbo'),
    privilege = convert(varchar(32), v.name), is_grantable = convert(varchar(3), 'YES')
from sysobjects o, master..spt_values v
where o.type in ('S', 'U') and o.name like @table_name and v.type = 'PR' order by o.name, v.number
go
create procedure sp_column_privileges @table_name varchar(771), @table_owner varchar(32) = null,
    @table_qualifier varchar(32) = null, @column_name varchar(771) = null
as
select table_qualifier = convert(varchar(30), db_name()), table_owner = convert(varchar(30), 'dbo'),
    table_name = convert(varchar(255), o.name), column_name = convert(varchar(255), c.name),
    grantor = convert(varchar(30), 'dbo'), grantee = convert(varchar(30), 'dbo'), privilege = convert(varchar(32), v.name),
    is_grantable = convert(varchar(3), 'YES')
from sysobjects o, syscolumns c, master..spt_values v
where o.id = c.id and o.type in ('S', 'U') and o.name like @table_name and c.name like isnull(@column_name, '%')
    and v.type = 'PR' and v.name <> 'DELETE' order by o.name, c.colid, v.number
go
create procedure sp_monitor @option varchar(30) = null, @name varchar(255) = null as
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
declare @now datetime, @tps int, @span int
select @now = getdate(), @tps = 1000000 / @@timeticks
select @span = datediff(ss, lastrun, @now) * (select count(*) from master..sysengines) from master..spt_monitor
if @span < 1 select @span = 1
select last_run = m.lastrun, current_run = @now, seconds = case when m.lastrun > @now then 0 else datediff(ss, m.lastrun, @now) end
from master..spt_monitor m
select cpu_busy = convert(varchar(25), convert(varchar(12), @@cpu_busy / @tps) + '(' + convert(varchar(12), (@@cpu_busy - m.cpu_busy) / @tps)
        + ')-' + convert(varchar(12), 100 * ((@@cpu_busy - m.cpu_busy) / @tps) / @span) + '%'),
    io_busy = convert(varchar(25), convert(varchar(12), @@io_busy / @tps) + '(' + convert(varchar(12), (@@io_busy - m.io_busy) / @tps)
        + ')-' + convert(varchar(12), 100 * ((@@io_busy - m.io_busy) / @tps) / @span) + '%'),
    idle = convert(varchar(25), convert(varchar(12), @@idle / @tps) + '(' + convert(varchar(12), (@@idle - m.idle) / @tps)
        + ')-' + convert(varchar(12), 100 * ((@@idle - m.idle) / @tps) / @span) + '%')
from master..spt_monitor m
select packets_received = convert(varchar(25), convert(varchar(12), @@pack_received) + '(' + convert(varchar(12), @@pack_received - m.pack_received) + ')'),
    packets_sent = convert(varchar(25), convert(varchar(12), @@pack_sent) + '(' + convert(varchar(12), @@pack_sent - m.pack_sent) + ')'),
    packet_errors = convert(varchar(25), convert(varchar(12), @@packet_errors) + '(' + convert(varchar(12), @@packet_errors - m.pack_errors) + ')')
from master..spt_monitor m
select total_read = convert(varchar(19), convert(varchar(12), @@total_read) + '(' + convert(varchar(12), @@total_read - m.total_read) + ')'),
    total_write = convert(varchar(19), convert(varchar(12), @@total_write) + '(' + convert(varchar(12), @@total_write - m.total_write) + ')'),
    total_errors = convert(varchar(19), convert(varchar(12), @@total_errors) + '(' + convert(varchar(12), @@total_errors - m.total_errors) + ')'),
    connections = convert(varchar(18), convert(varchar(12), @@connections) + '(' + convert(varchar(12), @@connections - m.connections) + ')')
from master..spt_monitor m
update master..spt_monitor set lastrun = @now, cpu_busy = @@cpu_busy, io_busy = @@io_busy, idle = @@idle,
    pack_received = @@pack_received, pack_sent = @@pack_sent, pack_errors = @@packet_errors, total_read = @@total_read, total_write = @@total_write, total_errors = @@total_errors, connections = @@connections
go
create procedure sp_metrics @cmd varchar(30) = null, @arg1 varchar(255) = null, @arg2 varchar(255) = null as
return 0
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
create procedure sp_droplogin @loginame varchar(30) as
declare @done varchar(255)
if proc_role('sso_role') = 0
begin
    raiserror 10353, 'sso_role'
    return 1
end
select @done = simulate('drop_login', @loginame)
if @@error <> 0 return 1
print 'Login dropped.'
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
create procedure sp_role @action varchar(10), @rolename varchar(30), @grantee varchar(30) as
declare @done varchar(255)
if proc_role('sso_role') = 0 and proc_role('sa_role') = 0
begin
    raiserror 10353, 'sso_role, sa_role'
    return 1
end
select @done = simulate('change_role', lower(@action), @rolename, @grantee)
if @@error <> 0 return 1
print 'Authorization updated.'
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
create procedure sp_unbindcache_all @cachename varchar(255) as
declare @done varchar(255)
if proc_role('sa_role') = 0
begin
    raiserror 10353, 'sa_role'
    return 1
end
select @done = simulate('unbind_all', @cachename)
if @@error <> 0 return 1
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
go
create procedure sp_namecrack @name varchar(1279), @server varchar(255) = null output, @database varchar(255) = null output,
    @owner varchar(255) = null output, @object varchar(255) = null output
as
select @server = simulate('name_part', @name, 4), @database = simulate('name_part', @name, 3),
    @owner = simulate('name_part', @name, 2), @object = simulate('name_part', @name, 1)
go
create procedure sp_getmessage @message_num int, @result varchar(1024) = null output, @language varchar(30) = null as
select @result = null
select @result = description from master..sysmessages where error = @message_num
if @@rowcount = 0 return 1
go
create procedure sp_hidetext @objname varchar(255) = null, @tabname varchar(255) = null as
declare @done varchar(255)
select @done = simulate('hide_text', @objname)
if @@error <> 0 return 1
