import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.configuration.FluentConfiguration;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.Arrays;
import java.util.stream.Collectors;

/** Flyway's commands over migrations of a usual kind. */
public final class FlywayJudge {
    private static Path folder;
    private static Judge judge;

    public static void main(String[] arguments) throws Exception {
        judge = new Judge(arguments, "flywaydb");
        folder = Files.createTempDirectory("migrations");
        write(
                "V1__customers.sql",
                "create table customer (\n"
                    + "  id int not null primary key,\n"
                    + "  name varchar(60) not null,\n"
                    + "  born date null\n"
                    + ") lock datarows\n"
                    + "go\n"
                    + "create index customer_name on customer (name)\n"
                    + "go\n");
        write(
                "V2__orders.sql",
                "create table orders (\n"
                    + "  id numeric(10,0) identity primary key,\n"
                    + "  customer_id int not null references customer (id),\n"
                    + "  amount money default 0 not null,\n"
                    + "  ordered datetime default getdate() not null\n"
                    + ")\n"
                    + "go\n"
                    + "insert into customer values (1, 'Ann', '1980-02-03')\n"
                    + "insert into customer values (2, 'Bob', null)\n"
                    + "insert into orders (customer_id, amount) values (1, 12.50)\n"
                    + "go\n");
        write(
                "V3__procedure.sql",
                "create procedure total @id int as\n"
                    + "begin\n"
                    + "  select sum(amount) from orders where customer_id = @id\n"
                    + "end\n"
                    + "go\n"
                    + "alter table customer add email varchar(100) null\n"
                    + "go\n");
        write("R__grants.sql", "grant select on customer to public\ngo\n");

        judge.expect(
                "info before", "1:Pending,2:Pending,3:Pending,null:Pending", FlywayJudge::info);
        judge.expect("schema is empty", false, () -> tool().clean().schemasCleaned.isEmpty());
        judge.expect(
                "migrate to 1",
                2,
                () ->
                        tool("2")
                                .baselineOnMigrate(false)
                                .target("1")
                                .load()
                                .migrate()
                                .migrationsExecuted);
        judge.expect("table is there", "id,name,born", () -> columns("customer"));
        judge.expect(
                "index is there",
                "customer_name",
                () ->
                        judge.read(
                                "select name from sysindexes where id = object_id('customer') and"
                                    + " name = 'customer_name'"));
        judge.expect(
                "info after 1", "1:Success,null:Success,2:Pending,3:Pending", FlywayJudge::info);
        judge.expect("migrate the rest", 2, () -> tool().migrate().migrationsExecuted);
        judge.expect("migrate again", 0, () -> tool().migrate().migrationsExecuted);
        judge.expect(
                "info after all", "1:Success,null:Success,2:Success,3:Success", FlywayJudge::info);
        judge.expect(
                "rows are there",
                "Ann,Bob",
                () -> judge.read("select name from customer order by id"));
        judge.expect("procedure works", "12.5000", () -> judge.read("exec total 1"));
        judge.expect(
                "history",
                "1,null,2,3",
                () ->
                        judge.read(
                                "select version from flyway_schema_history order by"
                                    + " installed_rank"));
        judge.expect(
                "history's user",
                "dbo",
                () -> judge.read("select distinct installed_by from flyway_schema_history"));
        judge.expect("validate", true, () -> tool().validateWithResult().validationSuccessful);
        write("V2__orders.sql", "select 1\ngo\n");
        judge.expect(
                "validate a changed file",
                false,
                () -> tool().validateWithResult().validationSuccessful);
        judge.expect("repair", 1, () -> tool().repair().migrationsAligned.size());
        judge.expect(
                "validate after repair",
                true,
                () -> tool().validateWithResult().validationSuccessful);
        write("V4__bad.sql", "create table half (a int)\ngo\ninsert into nowhere values (1)\ngo\n");
        judge.fails("a migration with an error", () -> tool().migrate(), 208);
        judge.expect(
                "history after the error",
                "1,null,2,3",
                () ->
                        judge.read(
                                "select version from flyway_schema_history where success = 1 order"
                                    + " by installed_rank"));
        Files.delete(folder.resolve("V4__bad.sql"));
        judge.expect("repair after the error", true, () -> tool().repair() != null);
        write(
                "V4__unique.sql",
                "create unique index customer_email on customer (name)\ngo\n"
                        + "insert into customer (id, name) values (3, 'Cat')\ngo\n");
        judge.expect("migrate after repair", 1, () -> tool().migrate().migrationsExecuted);
        write("V5__duplicate.sql", "insert into customer (id, name) values (4, 'Cat')\ngo\n");
        judge.fails("a duplicate key", () -> tool().migrate(), 2601);
        Files.delete(folder.resolve("V5__duplicate.sql"));
        judge.expect("repair after the duplicate", true, () -> tool().repair() != null);
        write(
                "V5__batches.sql",
                "declare @i int\n"
                    + "select @i = 10\n"
                    + "while @i < 20\n"
                    + "begin\n"
                    + "  insert into customer (id, name) values (@i, 'N' + convert(varchar(10),"
                    + " @i))\n"
                    + "  select @i = @i + 1\n"
                    + "end\n"
                    + "go\n"
                    + "update customer set email = lower(name) + '@example.com' where id >= 10\n"
                    + "go\n"
                    + "delete from customer where id = 19\n"
                    + "go\n");
        judge.expect("migrate with a loop", 1, () -> tool().migrate().migrationsExecuted);
        judge.expect(
                "rows of the loop",
                "9",
                () -> judge.read("select count(*) from customer where email is not null"));
        write("V6__rename.sql", "exec sp_rename 'customer.born', birthday\ngo\n");
        judge.expect("rename a column", 1, () -> tool().migrate().migrationsExecuted);
        Files.delete(folder.resolve("V6__rename.sql"));
        judge.expect("repair after the rename", true, () -> tool().repair() != null);
        write("V6__view.sql", "create view names as select name from customer\ngo\n");
        judge.expect("a view", 1, () -> tool().migrate().migrationsExecuted);
        Files.delete(folder.resolve("V6__view.sql"));
        judge.expect("repair after the view", true, () -> tool().repair() != null);
        judge.fails("clean is disabled", () -> tool("").cleanDisabled(true).load().clean(), 0);
        judge.fails("clean a table that another refers to", () -> tool().clean(), 3712);
        try (Connection connection = judge.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("drop table orders");
        }
        judge.expect("clean", true, () -> tool().clean().schemasCleaned.contains("dbo"));
        judge.expect(
                "nothing is left",
                "0",
                () ->
                        judge.read(
                                "select count(*) from sysobjects where type in ('U', 'P', 'V',"
                                    + " 'TR')"));
        judge.expect("baseline of an empty schema", "1", () -> tool().baseline().baselineVersion);
        judge.expect(
                "info of a baseline",
                "1:Ignored"
                    + " (Baseline),1:Baseline,2:Pending,3:Pending,4:Pending,5:Pending,null:Pending",
                FlywayJudge::info);
        judge.fails(
                "baseline again",
                () -> {
                    write("V0__x.sql", "select 1");
                    return tool("").baselineVersion("3").load().baseline();
                },
                0);
    }

    private static FluentConfiguration tool(String ignored) {
        return Flyway.configure()
                .dataSource(judge.url, judge.user, judge.password)
                .cleanDisabled(false)
                .locations("filesystem:" + folder);
    }

    private static Flyway tool() {
        return tool("").load();
    }

    private static String info() {
        return Arrays.stream(tool().info().all())
                .map(
                        (MigrationInfo each) ->
                                each.getVersion() + ":" + each.getState().getDisplayName())
                .collect(Collectors.joining(","));
    }

    private static String columns(String table) throws Exception {
        return judge.read(
                "select name from syscolumns where id = object_id('" + table + "') order by colid");
    }

    private static void write(String name, String text) throws Exception {
        Files.writeString(folder.resolve(name), text);
    }
}
