import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Runs steps of a tool and prints a line for each: verdict, name and what was seen, parted by tabs.
 *
 * <p>sensible: the step did what it should; right: it failed with the message that it should;
 * refused: the server said that this is not simulated; wrong: all else.
 */
final class Judge {
    private static final int NOT_SIMULATED = 20999;

    final String url;
    final String user;
    final String password;

    Judge(String[] arguments, String database) throws SQLException {
        user = arguments[1];
        password = arguments[2];
        String server = "jdbc:jtds:sybase://127.0.0.1:" + arguments[0] + "/";
        url = server + database;
        try (Connection connection =
                        DriverManager.getConnection(server + "master", user, password);
                Statement statement = connection.createStatement()) {
            statement.execute("if db_id('" + database + "') is not null drop database " + database);
            statement.execute("create database " + database);
        }
    }

    /** What a step does; its value is compared. */
    interface Step {
        Object run() throws Exception;
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(url, user, password);
    }

    /** The first column of the rows of a query over a connection of its own. */
    String read(String sql) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            List<String> found = new ArrayList<>();
            while (rows.next()) {
                found.add(String.valueOf(rows.getString(1)).trim());
            }
            return String.join(",", found);
        }
    }

    void expect(String name, Object wanted, Step step) {
        try {
            Object seen = step.run();
            tell(
                    Objects.equals(wanted, seen) ? "sensible" : "wrong",
                    name,
                    seen + ", expected " + wanted);
        } catch (Throwable problem) {
            int number = number(problem);
            tell(number == NOT_SIMULATED ? "refused" : "wrong", name, causes(problem));
        }
    }

    /** A step that fails with one of the numbers of the server's message. */
    void fails(String name, Step step, Integer... numbers) {
        try {
            tell("wrong", name, "no error: " + step.run());
        } catch (Throwable problem) {
            int number = number(problem);
            boolean right = List.of(numbers).contains(number);
            tell(
                    right ? "right" : number == NOT_SIMULATED ? "refused" : "wrong",
                    name,
                    causes(problem));
        }
    }

    private static int number(Throwable problem) {
        for (Throwable each = problem; each != null; each = each.getCause()) {
            if (each instanceof SQLException && ((SQLException) each).getErrorCode() != 0) {
                return ((SQLException) each).getErrorCode();
            }
        }
        return 0;
    }

    private static String causes(Throwable problem) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = problem; each != null; each = each.getCause()) {
            text.append(each).append(" / ");
        }
        return text.toString();
    }

    private static void tell(String verdict, String name, String seen) {
        System.out.println(verdict + "\t" + name + "\t" + seen.replaceAll("\\s+", " "));
    }
}
