// Judges a server through AdoNetCore.AseClient: tables of every type, parameters in and out, transactions, data sets.
//
// Prints "ok NAME" or "failed NAME: reason" for each check. Arguments: port, user, password.
using System;
using System.Data;
using System.Linq;
using AdoNetCore.AseClient;

internal static class Judge
{
    private static string _connection;

    private static void Main(string[] arguments)
    {
        _connection = $"Data Source=127.0.0.1; Port={arguments[0]}; Uid={arguments[1]}; Pwd={arguments[2]}; "
            + "db=tempdb; charset=utf8; Pooling=false";
        Check("plain login", () => Same(1, Scalar("select 1")));
        Check("encrypted login", () => Same(1, ScalarOver(_connection + "; EncryptPassword=1", "select 1")));
        Check("wrong password", () => Throws(4002, () => ScalarOver(_connection.Replace("Pwd=", "Pwd=x"), "select 1")));
        Types();
        Check("null of every type", Nulls);
        Check("named parameters", Named);
        Check("positional parameters", Positional);
        Check("prepared twice", Prepared);
        Check("output parameter and return status", Procedure);
        Check("error", () => Throws(208, () => Scalar("select * from no_such_table")));
        Check("duplicate key", () => Throws(2601, () => Scalar(
            "create table #u (a int) create unique index i on #u (a) insert #u values (1) insert #u values (1)")));
        Check("rollback", () => Transact(false, 0));
        Check("commit", () => Transact(true, 1));
        Check("data set", Fill);
        Check("adapter update", Update);
        Check("schema table", Schema);
        Check("several results", Several);
        Check("large result", Large);
    }

    private static void Types()
    {
        var moment = new DateTime(2024, 2, 29, 12, 34, 56, 790);
        Typed("bit", AseDbType.Bit, true);
        Typed("tinyint", AseDbType.TinyInt, (byte)255);
        Typed("smallint", AseDbType.SmallInt, (short)-32768);
        Typed("int", AseDbType.Integer, int.MaxValue);
        Typed("bigint", AseDbType.BigInt, long.MinValue);
        Typed("unsigned smallint", AseDbType.UnsignedSmallInt, ushort.MaxValue);
        Typed("unsigned int", AseDbType.UnsignedInt, uint.MaxValue);
        Typed("unsigned bigint", AseDbType.UnsignedBigInt, ulong.MaxValue);
        Typed("real", AseDbType.Real, 1.5f);
        Typed("float", AseDbType.Double, -2.5e100);
        Typed("numeric(28,4)", AseDbType.Decimal, -123456789012345678901234.5678m);
        Typed("money", AseDbType.Money, 922337203685477.5807m);
        Typed("smallmoney", AseDbType.SmallMoney, -214748.3648m);
        Typed("datetime", AseDbType.DateTime, moment);
        Typed("smalldatetime", AseDbType.SmallDateTime, new DateTime(2079, 6, 6, 23, 59, 0));
        Typed("date", AseDbType.Date, moment.Date);
        Typed("time", AseDbType.Time, new DateTime(1900, 1, 1, 23, 59, 59));
        Typed("bigdatetime", AseDbType.BigDateTime, moment);
        Typed("char(5)", AseDbType.Char, "abcde");
        Typed("varchar(300)", AseDbType.VarChar, new string('y', 280));
        Typed("univarchar(30)", AseDbType.UniVarChar, "Straße");
        Typed("varbinary(16)", AseDbType.VarBinary, new byte[] { 0, 1, 2, 255 });
        Typed("text", AseDbType.Text, new string('t', 5000));
        Typed("image", AseDbType.Image, Enumerable.Range(0, 256).Select(i => (byte)i).ToArray());
    }

    private static void Typed(string type, AseDbType kind, object value)
    {
        Check(type, () =>
        {
            using (var connection = Open())
            {
                Run(connection, $"create table #t (a {type} " + (type == "bit" ? "not null)" : "null)"));
                using (var insert = new AseCommand("insert into #t (a) values (@a)", connection))
                {
                    insert.Parameters.Add(new AseParameter("@a", kind) { Value = value });
                    Same(1, insert.ExecuteNonQuery());
                }
                using (var select = new AseCommand("select a from #t", connection))
                {
                    Same(value, select.ExecuteScalar());
                }
            }
        });
    }

    private static void Nulls()
    {
        using (var connection = Open())
        {
            Run(connection, "create table #n (a int null, b varchar(10) null, c datetime null, d numeric(10,2) null)");
            using (var insert = new AseCommand("insert into #n values (@a, @b, @c, @d)", connection))
            {
                insert.Parameters.Add(new AseParameter("@a", AseDbType.Integer) { Value = DBNull.Value });
                insert.Parameters.Add(new AseParameter("@b", AseDbType.VarChar) { Value = DBNull.Value });
                insert.Parameters.Add(new AseParameter("@c", AseDbType.DateTime) { Value = DBNull.Value });
                insert.Parameters.Add(new AseParameter("@d", AseDbType.Decimal) { Value = DBNull.Value });
                insert.ExecuteNonQuery();
            }
            using (var reader = new AseCommand("select * from #n", connection).ExecuteReader())
            {
                Same(true, reader.Read());
                Same(4, Enumerable.Range(0, 4).Count(reader.IsDBNull));
            }
        }
    }

    private static void Named()
    {
        using (var connection = Open())
        using (var select = new AseCommand("select @second, @first + 1", connection))
        {
            select.Parameters.Add(new AseParameter("@first", AseDbType.Integer) { Value = 1 });
            select.Parameters.Add(new AseParameter("@second", AseDbType.VarChar) { Value = "two" });
            using (var reader = select.ExecuteReader())
            {
                reader.Read();
                Same("two", reader.GetString(0));
                Same(2, reader.GetInt32(1));
            }
        }
    }

    private static void Positional()
    {
        using (var connection = new AseConnection(_connection + "; NamedParameters=false"))
        {
            connection.Open();
            using (var select = new AseCommand("select ?, ?", connection))
            {
                select.Parameters.Add(new AseParameter { AseDbType = AseDbType.Integer, Value = 7 });
                select.Parameters.Add(new AseParameter { AseDbType = AseDbType.VarChar, Value = "x" });
                using (var reader = select.ExecuteReader())
                {
                    reader.Read();
                    Same(7, reader.GetInt32(0));
                    Same("x", reader.GetString(1));
                }
            }
        }
    }

    private static void Prepared()
    {
        using (var connection = Open())
        {
            Run(connection, "create table #p (a int)");
            using (var insert = new AseCommand("insert into #p values (@a)", connection))
            {
                insert.Parameters.Add(new AseParameter("@a", AseDbType.Integer));
                insert.Prepare();
                foreach (var value in new[] { 1, 2 })
                {
                    insert.Parameters["@a"].Value = value;
                    Same(1, insert.ExecuteNonQuery());
                }
            }
            Same(3, new AseCommand("select sum(a) from #p", connection).ExecuteScalar());
        }
    }

    private static void Procedure()
    {
        using (var connection = Open())
        {
            Run(connection, "create procedure judge_twice @n int, @twice int output as "
                + "begin select @twice = 2 * @n return 7 end");
            using (var call = new AseCommand("judge_twice", connection) { CommandType = CommandType.StoredProcedure })
            {
                call.Parameters.Add(new AseParameter("@n", AseDbType.Integer) { Value = 21 });
                call.Parameters.Add(new AseParameter("@twice", AseDbType.Integer)
                {
                    Direction = ParameterDirection.Output
                });
                call.Parameters.Add(new AseParameter("@status", AseDbType.Integer)
                {
                    Direction = ParameterDirection.ReturnValue
                });
                call.ExecuteNonQuery();
                Same(42, call.Parameters["@twice"].Value);
                Same(7, call.Parameters["@status"].Value);
            }
            Run(connection, "drop procedure judge_twice");
        }
    }

    private static void Transact(bool commit, int expected)
    {
        using (var connection = Open())
        {
            Run(connection, "create table #x (a int)");
            using (var transaction = connection.BeginTransaction())
            {
                using (var insert = new AseCommand("insert into #x values (1)", connection, transaction))
                {
                    insert.ExecuteNonQuery();
                }
                if (commit)
                {
                    transaction.Commit();
                }
                else
                {
                    transaction.Rollback();
                }
            }
            Same(expected, new AseCommand("select count(*) from #x", connection).ExecuteScalar());
        }
    }

    private static void Fill()
    {
        using (var connection = Open())
        using (var adapter = new AseDataAdapter("select name, dbid from master..sysdatabases order by dbid", connection))
        {
            var set = new DataSet();
            var filled = adapter.Fill(set);
            Same(filled, set.Tables[0].Rows.Count);
            Same("master", set.Tables[0].Rows[0]["name"]);
        }
    }

    private static void Update()
    {
        using (var connection = Open())
        {
            Run(connection, "create table judge_rows (id int primary key, word varchar(10) null)");
            try
            {
                using (var adapter = new AseDataAdapter("select id, word from judge_rows", connection))
                using (var insert = new AseCommand("insert into judge_rows values (@id, @word)", connection))
                {
                    insert.Parameters.Add(new AseParameter("@id", AseDbType.Integer) { SourceColumn = "id" });
                    insert.Parameters.Add(new AseParameter("@word", AseDbType.VarChar) { SourceColumn = "word" });
                    adapter.InsertCommand = insert;
                    var table = new DataTable();
                    adapter.Fill(table);
                    table.Rows.Add(1, "one");
                    table.Rows.Add(2, DBNull.Value);
                    Same(2, adapter.Update(table));
                }
                Same(2, new AseCommand("select count(*) from judge_rows", connection).ExecuteScalar());
            }
            finally
            {
                Run(connection, "drop table judge_rows");
            }
        }
    }

    private static void Schema()
    {
        using (var connection = Open())
        using (var reader = new AseCommand("select spid number from master..sysprocesses", connection).ExecuteReader())
        {
            var row = reader.GetSchemaTable().Rows[0];
            Same("number", row["ColumnName"]);
            Same("spid", row["BaseColumnName"]);
        }
    }

    private static void Several()
    {
        using (var connection = Open())
        using (var reader = new AseCommand("select 1 select 'two' where 1 = 2 select 3.5", connection).ExecuteReader())
        {
            reader.Read();
            Same(1, reader.GetInt32(0));
            Same(true, reader.NextResult());
            Same(false, reader.Read());
            Same(true, reader.NextResult());
            reader.Read();
            Same(3.5m, reader.GetDecimal(0));
            Same(false, reader.NextResult());
        }
    }

    private static void Large()
    {
        using (var connection = Open())
        {
            const string Cross = " from master..monTables a, master..monTableColumns b";
            var expected = new AseCommand("select count(*)" + Cross, connection).ExecuteScalar();
            var count = 0;
            using (var reader = new AseCommand("select a.TableID, b.ColumnName" + Cross, connection).ExecuteReader())
            {
                while (reader.Read())
                {
                    count++;
                }
            }
            Same(expected, count);
        }
    }

    private static AseConnection Open()
    {
        var connection = new AseConnection(_connection);
        connection.Open();
        return connection;
    }

    private static void Run(AseConnection connection, string sql)
    {
        using (var command = new AseCommand(sql, connection))
        {
            command.ExecuteNonQuery();
        }
    }

    private static object Scalar(string sql) => ScalarOver(_connection, sql);

    private static object ScalarOver(string text, string sql)
    {
        using (var connection = new AseConnection(text))
        {
            connection.Open();
            using (var command = new AseCommand(sql, connection))
            {
                return command.ExecuteScalar();
            }
        }
    }

    private static void Throws(int number, Action action)
    {
        try
        {
            action();
        }
        catch (AseException error)
        {
            Same(number, error.Errors[0].MessageNumber);
            return;
        }
        throw new Exception($"no error, expected {number}");
    }

    private static void Same(object expected, object found)
    {
        var expectedBytes = expected as byte[];
        var equal = expectedBytes != null
            ? found is byte[] && expectedBytes.SequenceEqual((byte[])found)
            : Equals(expected, found);
        if (!equal)
        {
            throw new Exception($"expected {expected}, found {found} ({found?.GetType()})");
        }
    }

    private static void Check(string name, Action action)
    {
        try
        {
            action();
            Console.WriteLine($"ok {name}");
        }
        catch (Exception error)
        {
            Console.WriteLine($"failed {name}: {error.GetType().Name}: {error.Message.Replace('\n', ' ')}");
        }
    }
}
