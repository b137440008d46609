import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.Scope;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.DiffResult;
import liquibase.diff.compare.CompareControl;
import liquibase.diff.output.DiffOutputControl;
import liquibase.diff.output.changelog.DiffToChangeLog;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.core.Column;
import liquibase.structure.core.ForeignKey;
import liquibase.structure.core.Index;
import liquibase.structure.core.Table;

import java.io.OutputStream;
import java.io.PrintStream;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Liquibase's commands: each change set is updated, some are rolled back and updated again. */
public final class LiquibaseJudge {
    private static final List<String> DONE = new ArrayList<>();
    private static final String TYPES =
            "bigint,binary(8),blob,char(10),clob,currency,date,datetime,decimal(12 2),double"
                + " precision,float,int,nchar(4),nclob,numeric(10"
                + " 0),nvarchar(20),real,smallint,smallmoney,time,timestamp,tinyint,unichar(6),"
                + "univarchar(9),varbinary(20),varchar(255)";

    private static Path folder;
    private static Judge judge;

    public static void main(String[] arguments) throws Exception {
        judge = new Judge(arguments, "liquibasedb");
        folder = Files.createTempDirectory("changelog");
        Scope.child(new java.util.HashMap<>(), LiquibaseJudge::steps);
    }

    private static void steps() throws Exception {
        judge.expect(
                "status of nothing",
                0,
                () -> tool("").listUnrunChangeSets(new Contexts(), new LabelExpression()).size());
        String types = "";
        for (String type : TYPES.split(",")) {
            String name = "c_" + type.replaceAll("\\W.*", "");
            type = type.contains("(") ? type.replace(' ', ',') : type;
            types += "<column name=\"" + name + "\" type=\"" + type + "\"/>";
        }
        failing(
                "no such type",
                "<createTable tableName=\"bad\"><column name=\"a\" type=\"uuid\"/></createTable>",
                2715);
        update("every type", "<createTable tableName=\"every_type\">" + types + "</createTable>");
        judge.expect(
                "columns of every type",
                String.valueOf(TYPES.split(",").length),
                () ->
                        judge.read(
                                "select count(*) from syscolumns where id ="
                                    + " object_id('every_type')"));
        update(
                "table with key",
                table(
                        "person",
                        "id",
                        "<column name=\"name\" type=\"varchar(60)\"><constraints"
                            + " nullable=\"false\"/></column><column name=\"born\""
                            + " type=\"date\"/>"));
        update(
                "table with identity",
                "<createTable tableName=\"invoice\"><column name=\"id\" type=\"bigint\""
                    + " autoIncrement=\"true\"><constraints primaryKey=\"true\""
                    + " primaryKeyName=\"pk_invoice\"/></column><column name=\"person_id\""
                    + " type=\"int\"><constraints nullable=\"false\"/></column><column"
                    + " name=\"amount\" type=\"decimal(12,2)\" defaultValueNumeric=\"0\"/><column"
                    + " name=\"made\" type=\"datetime\""
                    + " defaultValueComputed=\"getdate()\"/></createTable>");
        update(
                "add column",
                "<addColumn tableName=\"person\"><column name=\"email\""
                    + " type=\"varchar(100)\"/></addColumn>");
        update(
                "add column with default",
                "<addColumn tableName=\"person\"><column name=\"active\" type=\"int\""
                    + " defaultValueNumeric=\"1\"><constraints"
                    + " nullable=\"false\"/></column></addColumn>");
        update(
                "foreign key",
                "<addForeignKeyConstraint constraintName=\"fk_invoice_person\""
                    + " baseTableName=\"invoice\" baseColumnNames=\"person_id\""
                    + " referencedTableName=\"person\" referencedColumnNames=\"id\"/>");
        update(
                "index",
                "<createIndex tableName=\"person\" indexName=\"ix_name\"><column"
                    + " name=\"name\"/></createIndex>");
        update(
                "unique index",
                "<createIndex tableName=\"person\" indexName=\"ux_email\" unique=\"true\">"
                        + "<column name=\"email\"/><column name=\"name\"/></createIndex>");
        update(
                "unique constraint",
                "<addUniqueConstraint tableName=\"invoice\" columnNames=\"person_id,made\" "
                        + "constraintName=\"uq_invoice\"/>");
        update("insert", insert("1", "Ann") + insert("2", "Bob") + insert("3", "Cat"));
        judge.expect(
                "rows", "Ann,Bob,Cat", () -> judge.read("select name from person order by id"));
        update(
                "insert with date",
                "<insert tableName=\"person\"><column name=\"id\" valueNumeric=\"4\"/><column"
                    + " name=\"name\" value=\"O'Neill &amp; Söhne\"/><column name=\"email\""
                    + " value=\"o@example.com\"/><column name=\"born\""
                    + " valueDate=\"1999-12-31\"/></insert>");
        judge.expect(
                "date",
                "1999-12-31",
                () -> judge.read("select convert(char(10), born, 23) from person where id = 4"));
        judge.expect(
                "quotes and umlauts",
                "O'Neill & Söhne",
                () -> judge.read("select name from person where id = 4"));
        update(
                "update rows",
                "<update tableName=\"person\"><column name=\"email\" value=\"ann@example.com\"/>"
                        + "<where>name = 'Ann'</where></update>");
        judge.expect(
                "updated",
                "1",
                () -> judge.read("select count(*) from person where email = 'ann@example.com'"));
        update("delete rows", "<delete tableName=\"person\"><where>id = 3</where></delete>");
        update(
                "sql",
                "<sql splitStatements=\"true\" endDelimiter=\";\">insert into invoice (person_id,"
                    + " amount) values (1, 10.5);insert into invoice (person_id) values (2)</sql>");
        judge.expect(
                "defaults",
                "10.50,0.00",
                () -> judge.read("select amount from invoice order by id"));
        judge.expect("identity", "1,2", () -> judge.read("select id from invoice order by id"));
        update(
                "procedure",
                "<createProcedure procedureName=\"owed\">create procedure owed @id int as select"
                    + " sum(amount) from invoice where person_id = @id</createProcedure>");
        judge.expect("procedure runs", "10.50", () -> judge.read("exec owed 1"));
        update(
                "not null",
                "<addNotNullConstraint tableName=\"invoice\" columnName=\"amount\""
                    + " columnDataType=\"decimal(12,2)\"/>");
        judge.expect(
                "is not null",
                "0",
                () ->
                        judge.read(
                                "select count(*) from syscolumns where id = object_id('invoice')"
                                    + " and name = 'amount' and status & 8 = 8"));
        update(
                "null again",
                "<dropNotNullConstraint tableName=\"invoice\" columnName=\"amount\""
                    + " columnDataType=\"decimal(12,2)\"/>");
        update(
                "default value",
                "<addDefaultValue tableName=\"person\" columnName=\"born\" columnDataType=\"date\" "
                        + "defaultValueDate=\"2000-01-01\"/>");
        update(
                "wider column",
                "<modifyDataType tableName=\"person\" columnName=\"email\""
                    + " newDataType=\"varchar(200)\"/>");
        judge.expect(
                "is wider",
                "200",
                () ->
                        judge.read(
                                "select length from syscolumns where id = object_id('person') and"
                                    + " name = 'email'"));
        update(
                "rename column",
                "<renameColumn tableName=\"person\" oldColumnName=\"born\""
                    + " newColumnName=\"birthday\" columnDataType=\"date\"/>");
        update(
                "rename table",
                "<renameTable oldTableName=\"every_type\" newTableName=\"all_types\"/>");
        update(
                "view",
                "<createView viewName=\"v_person\">select id, name from person</createView>");
        update(
                "precondition",
                "<preConditions onFail=\"MARK_RAN\"><not><tableExists"
                    + " tableName=\"person\"/></not></preConditions><createTable"
                    + " tableName=\"never\"><column name=\"a\" type=\"int\"/></createTable>");
        judge.expect(
                "is not made",
                "0",
                () -> judge.read("select count(*) from sysobjects where name = 'never'"));
        update(
                "preconditions of all kinds",
                "<preConditions onFail=\"HALT\"><and><columnExists tableName=\"person\""
                    + " columnName=\"email\"/><indexExists"
                    + " indexName=\"ix_name\"/><foreignKeyConstraintExists"
                    + " foreignKeyTableName=\"invoice\""
                    + " foreignKeyName=\"fk_invoice_person\"/><primaryKeyExists"
                    + " tableName=\"person\"/><sqlCheck expectedResult=\"3\">select count(*) from"
                    + " person</sqlCheck></and></preConditions><createTable"
                    + " tableName=\"met\"><column name=\"a\" type=\"int\"/></createTable>");
        failing(
                "foreign key is kept",
                "<insert tableName=\"invoice\"><column name=\"person_id\""
                    + " valueNumeric=\"99\"/></insert>",
                546);
        failing("primary key is kept", insert("1", "Ann"), 2601);
        failing("no such table", "<dropTable tableName=\"nowhere\"/>", 3701);
        failing("table exists", table("person", "id", ""), 2714);
        judge.expect(
                "history",
                String.valueOf(DONE.size()),
                () -> judge.read("select count(*) from DATABASECHANGELOG"));
        judge.expect(
                "status",
                0,
                () -> tool("").listUnrunChangeSets(new Contexts(), new LabelExpression()).size());
        judge.expect(
                "tag",
                true,
                () -> {
                    tool("").tag("v1");
                    return tool("").tagExists("v1");
                });
        update(
                "after the tag",
                table("extra", "id", "")
                        + "<addColumn tableName=\"extra\"><column name=\"b\""
                        + " type=\"int\"/></addColumn>");
        update(
                "one more",
                "<createIndex tableName=\"extra\" indexName=\"ix_b\"><column"
                    + " name=\"b\"/></createIndex>");
        judge.expect(
                "rollback SQL",
                true,
                () -> {
                    Writer writer = new StringWriter();
                    tool("").rollback("v1", new Contexts(), new LabelExpression(), writer);
                    return writer.toString().contains("DROP TABLE");
                });
        judge.expect(
                "rollback",
                "0",
                () -> {
                    tool("").rollback("v1", "");
                    return judge.read("select count(*) from sysobjects where name = 'extra'");
                });
        judge.expect(
                "status after rollback",
                2,
                () -> tool("").listUnrunChangeSets(new Contexts(), new LabelExpression()).size());
        judge.expect(
                "update SQL",
                true,
                () -> {
                    Writer writer = new StringWriter();
                    tool("").update(new Contexts(), writer);
                    return writer.toString().contains("CREATE TABLE");
                });
        judge.expect(
                "update again",
                "1",
                () -> {
                    tool("").update("");
                    return judge.read("select count(*) from sysobjects where name = 'extra'");
                });
        update("drop index", "<dropIndex tableName=\"extra\" indexName=\"ix_b\"/>");
        update("drop column", "<dropColumn tableName=\"person\" columnName=\"active\"/>");
        update(
                "drop unique constraint",
                "<dropUniqueConstraint tableName=\"invoice\" constraintName=\"uq_invoice\"/>");
        update(
                "drop foreign key",
                "<dropForeignKeyConstraint baseTableName=\"invoice\""
                    + " constraintName=\"fk_invoice_person\"/>");
        update(
                "drop primary key",
                "<dropPrimaryKey tableName=\"invoice\" constraintName=\"pk_invoice\"/>");
        update(
                "add primary key",
                "<addPrimaryKey tableName=\"invoice\" columnNames=\"id\""
                    + " constraintName=\"pk_invoice2\"/>");
        update("drop procedure", "<dropProcedure procedureName=\"owed\"/>");
        update("drop table", "<dropTable tableName=\"met\"/>");
        update(
                "foreign key again",
                "<addForeignKeyConstraint constraintName=\"fk2\" baseTableName=\"invoice\""
                    + " baseColumnNames=\"person_id\" referencedTableName=\"person\""
                    + " referencedColumnNames=\"id\"/>");
        judge.expect(
                "tables of a snapshot",
                true,
                () -> {
                    DatabaseSnapshot snapshot = snapshot();
                    String names =
                            snapshot.get(Table.class).stream()
                                    .map(Table::getName)
                                    .sorted()
                                    .collect(Collectors.joining(","));
                    return names.contains("extra,invoice,person") ? true : names;
                });
        judge.expect(
                "columns of a snapshot",
                "email varchar 200,id int 10,name varchar 60",
                () ->
                        snapshot().get(Column.class).stream()
                                .filter(
                                        each ->
                                                each.getRelation() != null
                                                        && each.getRelation()
                                                                .getName()
                                                                .equals("person"))
                                .filter(each -> !each.getName().equals("born"))
                                .map(
                                        each ->
                                                each.getName()
                                                        + " "
                                                        + each.getType().getTypeName()
                                                        + " "
                                                        + each.getType().getColumnSize())
                                .sorted()
                                .collect(Collectors.joining(",")));
        judge.expect(
                "primary keys of a snapshot",
                "extra:id,invoice:id,person:id",
                () ->
                        snapshot().get(Table.class).stream()
                                .filter(
                                        each ->
                                                each.getPrimaryKey() != null
                                                        && !each.getName().startsWith("DATABASE"))
                                .map(
                                        each ->
                                                each.getName()
                                                        + ":"
                                                        + each.getPrimaryKey().getColumnNames())
                                .sorted()
                                .collect(Collectors.joining(",")));
        judge.expect(
                "foreign keys of a snapshot",
                "fk2 invoice person",
                () ->
                        snapshot().get(ForeignKey.class).stream()
                                .map(
                                        each ->
                                                each.getName()
                                                        + " "
                                                        + each.getForeignKeyTable().getName()
                                                        + " "
                                                        + each.getPrimaryKeyTable().getName())
                                .collect(Collectors.joining(",")));
        judge.expect(
                "indexes of a snapshot",
                "ix_name false name;ux_email true email,name",
                () ->
                        snapshot().get(Index.class).stream()
                                .filter(each -> each.getName().matches("[iu]x_.*"))
                                .map(
                                        each ->
                                                each.getName()
                                                        + " "
                                                        + each.isUnique()
                                                        + " "
                                                        + each.getColumns().stream()
                                                                .map(Column::getName)
                                                                .collect(Collectors.joining(",")))
                                .sorted()
                                .collect(Collectors.joining(";")));
        judge.expect(
                "diff against itself",
                true,
                () -> {
                    Database one = database();
                    Database other = database();
                    DiffResult diff = tool("").diff(one, other, CompareControl.STANDARD);
                    return diff.areEqual();
                });
        judge.expect(
                "generated changelog",
                true,
                () -> {
                    Database database = database();
                    new Liquibase(
                                    folder.resolve("generated.xml").toString(),
                                    new DirectoryResourceAccessor(folder),
                                    database)
                            .generateChangeLog(
                                    database.getDefaultSchema(),
                                    new DiffToChangeLog(
                                            new DiffOutputControl(false, false, false, null)),
                                    new PrintStream(OutputStream.nullOutputStream()));
                    String text = Files.readString(folder.resolve("generated.xml"));
                    return text.contains("tableName=\"person\"")
                                    && text.contains("addForeignKeyConstraint")
                                    && text.contains("createIndex")
                            ? true
                            : text;
                });
        judge.expect(
                "validate",
                true,
                () -> {
                    tool("").validate();
                    return true;
                });
        judge.expect(
                "clear checksums",
                "0",
                () -> {
                    tool("").clearCheckSums();
                    return judge.read(
                            "select count(*) from DATABASECHANGELOG where MD5SUM is not null");
                });
        judge.expect(
                "update after that",
                0,
                () -> {
                    tool("").update("");
                    return tool("").listUnrunChangeSets(new Contexts(), new LabelExpression())
                            .size();
                });
        judge.expect("no lock is left", 0, () -> tool("").listLocks().length);
        judge.expect(
                "force release",
                true,
                () -> {
                    tool("").forceReleaseLocks();
                    return true;
                });
        judge.expect(
                "drop all",
                "",
                () -> {
                    tool("").dropAll();
                    return judge.read(
                            "select name from sysobjects where type = 'U' and name not like"
                                + " 'DATABASECHANGELOG%'");
                });
    }

    private static String table(String name, String key, String columns) {
        return "<createTable tableName=\""
                + name
                + "\"><column name=\""
                + key
                + "\" type=\"int\"><constraints "
                + "primaryKey=\"true\" nullable=\"false\"/></column>"
                + columns
                + "</createTable>";
    }

    private static String insert(String id, String name) {
        return "<insert tableName=\"person\"><column name=\"id\" valueNumeric=\""
                + id
                + "\"/><column name=\"name\" "
                + "value=\""
                + name
                + "\"/></insert>";
    }

    /** One more change set, which stays in the changelog if it succeeds. */
    private static void update(String name, String changes) {
        judge.expect(
                name,
                true,
                () -> {
                    String set = set(name, changes);
                    tool(set).update("");
                    DONE.add(set);
                    return true;
                });
    }

    private static void failing(String name, String changes, int number) {
        judge.fails(
                name,
                () -> {
                    tool(set(name, changes)).update("");
                    return name;
                },
                number);
    }

    private static String set(String name, String changes) {
        return "<changeSet id=\"" + name + "\" author=\"judge\">" + changes + "</changeSet>";
    }

    private static Liquibase tool(String more) throws Exception {
        Files.writeString(
                folder.resolve("changelog.xml"),
                "<databaseChangeLog xmlns=\"http://www.liquibase.org/xml/ns/dbchangelog\""
                    + " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\""
                    + " xsi:schemaLocation=\"http://www.liquibase.org/xml/ns/dbchangelog "
                    + "http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd\">"
                        + String.join("\n", DONE)
                        + more
                        + "</databaseChangeLog>");
        return new Liquibase("changelog.xml", new DirectoryResourceAccessor(folder), database());
    }

    private static Database database() throws Exception {
        Connection connection = judge.connect();
        return DatabaseFactory.getInstance()
                .findCorrectDatabaseImplementation(new JdbcConnection(connection));
    }

    private static DatabaseSnapshot snapshot() throws Exception {
        Database database = database();
        return SnapshotGeneratorFactory.getInstance()
                .createSnapshot(
                        database.getDefaultSchema(), database, new SnapshotControl(database));
    }
}
