// A loop around franz-go that produces or consumes a number of records as fast as it can, and prints how many it did and in
// how many seconds. Its options are those of the library's own bench with one static record.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	brokers = flag.String("brokers", "", "bootstrap server")
	topic   = flag.String("topic", "", "topic to produce to or consume from")
	count   = flag.Int64("count", 0, "records")
	size    = flag.Int("size", 100, "bytes of each value")
	acks    = flag.String("acks", "all", "1 or all")
	consume = flag.Bool("consume", false, "consume from the beginning instead of producing")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	options := []kgo.Opt{kgo.SeedBrokers(*brokers)}
	if *consume {
		options = append(options,
			kgo.ConsumeTopics(*topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	} else {
		options = append(options,
			kgo.DefaultProduceTopic(*topic),
			// As many as fit into 250 MiB: the library's 10,000 would stop the loop again and again.
			kgo.MaxBufferedRecords(250<<20 / *size + 1),
			kgo.ProducerBatchMaxBytes(1_000_000),
			kgo.ProducerBatchCompression(kgo.NoCompression()))
		if *acks == "1" {
			options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
		}
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	start := time.Now()
	done := produce
	if *consume {
		done = receive
	}
	records, err := done(client)
	fmt.Println(records, time.Since(start).Seconds())
	return err
}

func produce(client *kgo.Client) (int64, error) {
	var delivered atomic.Int64
	var failed atomic.Pointer[error]
	var pending sync.WaitGroup
	value := bytes.Repeat([]byte{'x'}, *size)
	report := func(_ *kgo.Record, err error) {
		if err != nil {
			failed.CompareAndSwap(nil, &err)
		} else {
			delivered.Add(1)
		}
		pending.Done()
	}
	pending.Add(int(*count))
	for range *count {
		client.Produce(context.Background(), kgo.SliceRecord(value), report)
	}
	pending.Wait()
	if err := failed.Load(); err != nil {
		return delivered.Load(), *err
	}
	return delivered.Load(), nil
}

func receive(client *kgo.Client) (int64, error) {
	var received int64
	for received < *count {
		fetches := client.PollFetches(context.Background())
		if errors := fetches.Errors(); len(errors) > 0 {
			return received, errors[0].Err
		}
		received += int64(fetches.NumRecords())
	}
	return received, nil
}
