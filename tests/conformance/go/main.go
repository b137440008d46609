// Command bridge drives github.com/thda/tds by lines on standard input and tells what it got by lines on
// standard output.
//
// Fields are parted by tabs; tab, line feed, carriage return and backslash are escaped, \N is NULL. Every
// answer ends with a line "end".
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/thda/tds"
)

const greatestInformation = 10

var (
	out     = bufio.NewWriter(os.Stdout)
	telling sync.Mutex
	escapes = strings.NewReplacer("\\", "\\\\", "\t", "\\t", "\n", "\\n", "\r", "\\r")
	reverse = strings.NewReplacer("\\\\", "\\", "\\t", "\t", "\\n", "\n", "\\r", "\r")

	connection *sql.Conn
	cancel     context.CancelFunc
	finished   chan struct{}
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		fields := strings.Split(in.Text(), "\t")
		for i := range fields {
			fields[i] = reverse.Replace(fields[i])
		}
		serve(fields)
		tell("end")
		out.Flush()
	}
}

func serve(fields []string) {
	ctx := context.Background()
	switch fields[0] {
	case "connect":
		connect(ctx, fields[1], fields[2], fields[3], fields[4])
	case "batch":
		tellQuery(connection.QueryContext(ctx, fields[1]))
	case "prepared":
		prepared(ctx, fields[1], fields[2:])
	case "start":
		start(ctx, fields[1])
	case "cancel":
		awaitReading()
		cancel()
		<-finished
	default:
		panic(fields[0])
	}
}

func connect(ctx context.Context, host, port, user, password string) {
	address := url.URL{
		Scheme:   "tds",
		User:     url.UserPassword(user, password),
		Host:     host + ":" + port,
		Path:     "/master",
		RawQuery: "charset=utf8&encryptPassword=try",
	}
	database, err := sql.Open("tds", address.String())
	if err == nil {
		database.Driver().(tds.ErrorHandler).SetErrorhandler(handle)
		connection, err = database.Conn(ctx)
	}
	if err != nil {
		tell("error", "", err.Error())
	}
}

func handle(message tds.SybError) bool {
	failed := message.Severity > greatestInformation
	kind := "message"
	if failed {
		kind = "error"
	}
	tell(kind, strconv.Itoa(int(message.MsgNumber)), message.Message)
	return failed
}

// prepared runs one statement twice, to see that a prepared one can be used again.
func prepared(ctx context.Context, text string, arguments []string) {
	statement, err := connection.PrepareContext(ctx, text)
	if err != nil {
		return
	}
	defer statement.Close()
	values := make([]interface{}, len(arguments))
	for i, argument := range arguments {
		values[i] = argument[2:]
		if strings.HasPrefix(argument, "i:") {
			values[i], _ = strconv.Atoi(argument[2:])
		}
	}
	for round := 0; round < 2; round++ {
		tellQuery(statement.QueryContext(ctx, values...))
	}
}

func start(ctx context.Context, text string) {
	ctx, cancel = context.WithCancel(ctx)
	finished = make(chan struct{})
	go func() {
		tellQuery(connection.QueryContext(ctx, text))
		close(finished)
	}()
}

// awaitReading returns when the driver waits for the server's answer: it loses a cancel that comes between the
// sending of the request and that.
func awaitReading() {
	stacks := make([]byte, 1<<20)
	for {
		running := string(stacks[:runtime.Stack(stacks, true)])
		if strings.Contains(running, "tds.(*buf).receive") && strings.Contains(running, "[IO wait") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func tellQuery(rows *sql.Rows, err error) {
	if err != nil {
		if _, told := err.(tds.SybError); !told {
			tell("error", "", err.Error())
		}
		return
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		if err = tellSet(rows); err != nil {
			break
		}
	}
	if err == nil {
		err = rows.Err()
	}
	if err != nil {
		tell("error", "", err.Error())
	}
}

func tellSet(rows *sql.Rows) error {
	columns, err := rows.Columns()
	if err != nil || len(columns) == 0 {
		return err
	}
	tell("set")
	values := make([]interface{}, len(columns))
	places := make([]interface{}, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		fields := []string{"row"}
		for _, value := range values {
			fields = append(fields, text(value))
		}
		tellEscaped(fields)
	}
	return nil
}

func text(value interface{}) string {
	switch known := value.(type) {
	case nil:
		return "\\N"
	case []byte:
		return hex.EncodeToString(known)
	case time.Time:
		return known.Format("2006-01-02 15:04:05.999999")
	case tds.Num:
		return known.String()
	default:
		return escapes.Replace(fmt.Sprint(known))
	}
}

func tell(fields ...string) {
	for i := range fields {
		fields[i] = escapes.Replace(fields[i])
	}
	tellEscaped(fields)
}

func tellEscaped(fields []string) {
	telling.Lock()
	defer telling.Unlock()
	fmt.Fprintln(out, strings.Join(fields, "\t"))
}
