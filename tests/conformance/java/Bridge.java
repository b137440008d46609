import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Blob;
import java.sql.CallableStatement;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.sql.Types;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Drives jTDS by lines on standard input and tells what it got by lines on standard output.
 *
 * <p>Fields are parted by tabs; tab, line feed, carriage return and backslash are escaped, \N is NULL. Every
 * answer ends with a line "end".
 */
public final class Bridge {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static final Pattern ESCAPE = Pattern.compile("\\\\([\\\\tnr])");
    private static final String LETTERS = "\\tnr";
    private static final String MEANINGS = "\\\t\n\r";

    private static final long CANCEL_AGAIN_MILLISECONDS = 1000;

    private static Connection connection;
    private static Statement running;
    private static Thread runner;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split("\t", -1);
            for (int i = 0; i < fields.length; i++) {
                fields[i] = unescape(fields[i]);
            }
            try {
                serve(fields);
            } catch (SQLException error) {
                tellErrors(error);
            }
            tell("end");
            OUT.flush();
        }
    }

    private static void serve(String[] fields) throws Exception {
        switch (fields[0]) {
            case "connect":
                String url = "jdbc:jtds:sybase://" + fields[1] + ":" + fields[2] + "/master;loginTimeout=10";
                connection = DriverManager.getConnection(url, fields[3], fields[4]);
                break;
            case "batch":
                try (Statement statement = connection.createStatement()) {
                    tellResults(statement, statement.execute(fields[1]));
                }
                break;
            case "prepared":
                prepared(fields);
                break;
            case "call":
                call(fields[1], Integer.parseInt(fields[2]));
                break;
            case "start":
                start(fields[1]);
                break;
            case "cancel":
                // jTDS drops a cancel that comes before it has noted that it sent the batch: so ask again
                do {
                    running.cancel();
                    runner.join(CANCEL_AGAIN_MILLISECONDS);
                } while (runner.isAlive());
                break;
            default:
                throw new IllegalArgumentException(fields[0]);
        }
    }

    /** Runs one statement twice, to see that a prepared one can be used again. */
    private static void prepared(String[] fields) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(fields[1])) {
            for (int round = 0; round < 2; round++) {
                for (int i = 2; i < fields.length; i++) {
                    String value = fields[i].substring(2);
                    if (fields[i].startsWith("i:")) {
                        statement.setInt(i - 1, Integer.parseInt(value));
                    } else {
                        statement.setString(i - 1, value);
                    }
                }
                tellResults(statement, statement.execute());
            }
        }
    }

    private static void call(String procedure, int argument) throws SQLException {
        try (CallableStatement statement = connection.prepareCall("{? = call " + procedure + "(?, ?)}")) {
            statement.registerOutParameter(1, Types.INTEGER);
            statement.setInt(2, argument);
            statement.registerOutParameter(3, Types.INTEGER);
            tellResults(statement, statement.execute());
            tell("status", statement.getString(1));
            tell("output", statement.getString(3));
        }
    }

    private static void start(String sql) throws SQLException {
        running = connection.createStatement();
        runner = new Thread(() -> {
            try {
                tellResults(running, running.execute(sql));
            } catch (SQLException error) {
                tellErrors(error);
            }
        });
        runner.start();
    }

    private static void tellResults(Statement statement, boolean isSet) throws SQLException {
        boolean set = isSet;
        while (true) {
            if (set) {
                try (ResultSet rows = statement.getResultSet()) {
                    tellSet(rows);
                }
            } else if (statement.getUpdateCount() < 0) {
                break;
            } else {
                tell("count", String.valueOf(statement.getUpdateCount()));
            }
            set = statement.getMoreResults();
        }
        for (SQLWarning warning = statement.getWarnings(); warning != null; warning = warning.getNextWarning()) {
            tell("message", String.valueOf(warning.getErrorCode()), warning.getMessage());
        }
    }

    private static void tellSet(ResultSet rows) throws SQLException {
        tell("set");
        int width = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            String[] fields = new String[width + 1];
            fields[0] = "row";
            for (int i = 1; i <= width; i++) {
                fields[i] = text(rows.getObject(i));
            }
            tell(fields);
        }
    }

    private static String text(Object value) throws SQLException {
        if (value instanceof byte[]) {
            return hex((byte[]) value);
        }
        if (value instanceof BigDecimal) {
            return ((BigDecimal) value).toPlainString();
        }
        if (value instanceof Clob) {
            Clob clob = (Clob) value;
            return clob.getSubString(1, (int) clob.length());
        }
        if (value instanceof Blob) {
            Blob blob = (Blob) value;
            return hex(blob.getBytes(1, (int) blob.length()));
        }
        return value == null ? null : value.toString();
    }

    private static String hex(byte[] data) {
        StringBuilder text = new StringBuilder();
        for (byte part : data) {
            text.append(String.format("%02x", part));
        }
        return text.toString();
    }

    private static void tellErrors(SQLException first) {
        for (SQLException error = first; error != null; error = error.getNextException()) {
            tell("error", String.valueOf(error.getErrorCode()), error.getMessage());
        }
    }

    private static synchronized void tell(String... fields) {
        StringBuilder line = new StringBuilder();
        for (String field : fields) {
            line.append(line.length() == 0 ? "" : "\t").append(field == null ? "\\N" : escape(field));
        }
        OUT.println(line);
    }

    private static String escape(String text) {
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
    }

    private static String unescape(String text) {
        return ESCAPE.matcher(text).replaceAll(
            found -> Matcher.quoteReplacement(String.valueOf(MEANINGS.charAt(LETTERS.indexOf(found.group(1))))));
    }
}
