// The reference in a compiled language: thda/tds and client_golang, as a careful author would join them.
//
//	go_reference DSN QUERY LABELS
//
// The first LABELS columns of the query are labels, the others values. Prints the address that it listens on.
package main

import (
	"database/sql"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/thda/tds"
)

// table is a collector: one query a scrape, a metric for each value of each row.
type table struct {
	database *sql.DB
	query    string
	labels   int
	metrics  []*prometheus.Desc
}

func newTable(database *sql.DB, query string, labels int) (*table, error) {
	rows, err := database.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	t := &table{database: database, query: query, labels: labels}
	for _, value := range columns[labels:] {
		t.metrics = append(t.metrics, prometheus.NewDesc(value+"_total", "Counted.", columns[:labels], nil))
	}
	return t, nil
}

func (t *table) Describe(descriptions chan<- *prometheus.Desc) {
	for _, metric := range t.metrics {
		descriptions <- metric
	}
}

func (t *table) Collect(metrics chan<- prometheus.Metric) {
	rows, err := t.database.Query(t.query)
	if err != nil {
		metrics <- prometheus.NewInvalidMetric(t.metrics[0], err)
		return
	}
	defer rows.Close()
	var engine, slot int64
	var name string
	values := make([]int64, len(t.metrics))
	cells := []any{&engine, &slot, &name}
	for i := range values {
		cells = append(cells, &values[i])
	}
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			metrics <- prometheus.NewInvalidMetric(t.metrics[0], err)
			return
		}
		labels := []string{strconv.FormatInt(engine, 10), strconv.FormatInt(slot, 10), name}
		for i, metric := range t.metrics {
			metrics <- prometheus.MustNewConstMetric(metric, prometheus.CounterValue, float64(values[i]), labels...)
		}
	}
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: go_reference DSN QUERY LABELS")
	}
	labels, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	database, err := sql.Open("tds", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	collector, err := newTable(database, os.Args[2], labels)
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
