// franz-go as a driver of Plumb: docs/guide/external-drivers.md has the protocol.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	plumb  = os.NewFile(0, "plumb")
	orders = bufio.NewReader(plumb)
	lock   sync.Mutex
	little = binary.LittleEndian
)

// Go's own clock is no reading that another program could share.
func now() uint64 {
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0) // 1: CLOCK_MONOTONIC
	return uint64(at.Nano())
}

func say(kind byte, fields ...any) {
	body, _ := binary.Append([]byte{kind}, little, fields[0])
	for _, field := range fields[1:] {
		body, _ = binary.Append(body, little, field)
	}
	frame := append(little.AppendUint32(nil, uint32(len(body))), body...)
	lock.Lock()
	defer lock.Unlock()
	if _, err := plumb.Write(frame); err != nil {
		os.Exit(0)
	}
}

func frame() (byte, []byte) {
	var length uint32
	if binary.Read(orders, little, &length) != nil {
		os.Exit(0) // Plumb is gone.
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(orders, body); err != nil {
		os.Exit(0)
	}
	return body[0], body[1:]
}

func version() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "github.com/twmb/franz-go" {
			return module.Version
		}
	}
	return "unknown"
}

func ready() {
	say('R', []byte("client=franz-go\nversion="+version()+"\nruntime="+runtime.Version()))
	go func() {
		for ; ; time.Sleep(10 * time.Millisecond) {
			say('T', now())
		}
	}()
}

// Cuts a length and so many bytes off; nil where the length is -1.
func cut(body []byte) (taken, rest []byte) {
	length := int32(little.Uint32(body))
	if length < 0 {
		return nil, body[4:]
	}
	return body[4 : 4+length : 4+length], body[4+length:]
}

func produce(client *kgo.Client) {
	for kind, body := frame(); kind == 'O'; kind, body = frame() {
		number, due := little.Uint64(body), little.Uint64(body[8:])
		partition, at, inHeader := int32(little.Uint32(body[16:])), little.Uint32(body[20:]), body[24] != 0
		record := &kgo.Record{Partition: partition}
		record.Key, body = cut(body[25:])
		count := little.Uint32(body)
		body = body[4:]
		for range count {
			var name, value []byte
			name, body = cut(body)
			value, body = cut(body)
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: string(name), Value: value})
		}
		record.Value = body
		stamped := record.Value
		if inHeader {
			stamped = record.Headers[len(record.Headers)-1].Value
		}
		if left := int64(due) - int64(now()); left > 0 {
			time.Sleep(time.Duration(left))
		}
		for now() < due { // A sleep may end early by the resolution of another clock.
		}
		called := now()
		little.PutUint64(stamped[at:], called)
		client.Produce(context.Background(), record, func(record *kgo.Record, err error) {
			if err != nil {
				say('F', number, called, now(), []byte("FAILED: "+err.Error()))
				return
			}
			say('A', number, called, now(), record.Partition, record.Offset)
		})
	}
	client.Close()
}

func consume(client *kgo.Client) {
	over, end := context.WithCancel(context.Background())
	go func() { frame(); end() }()
	for over.Err() == nil {
		fetches := client.PollFetches(over)
		at := now()
		fetches.EachError(func(_ string, _ int32, err error) {
			if over.Err() == nil {
				say('N', []byte(err.Error()))
			}
		})
		fetches.EachRecord(func(record *kgo.Record) {
			head, appended := record.Value, int64(-1)
			for _, header := range record.Headers {
				if header.Key == "plumb" {
					head = header.Value
				}
			}
			if record.Attrs.TimestampType() == 1 {
				appended = record.Timestamp.UnixMilli()
			}
			say('G', at, record.Partition, record.Offset, appended, uint32(len(record.Value)), head[:min(48, len(head))])
		})
	}
	client.Close()
}

// A client that keeps to the partition of a record, or chooses one where there is none.
type partitioner struct{ kgo.TopicPartitioner }

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return partitioner{kgo.StickyKeyPartitioner(nil).ForTopic(topic)}
}

func (p partitioner) Partition(record *kgo.Record, count int) int {
	if record.Partition >= 0 {
		return int(record.Partition)
	}
	return p.TopicPartitioner.Partition(record, count)
}

func main() {
	settings, properties := map[string]string{}, map[string]string{}
	for kind, body := frame(); kind != 'B'; kind, body = frame() {
		name, value, _ := strings.Cut(string(body), "=")
		if kind == 'S' {
			settings[name] = value
		} else {
			properties[name] = value
		}
	}
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(properties["bootstrap.servers"], ",")...), kgo.ClientID(properties["client.id"])}
	held, holding := map[int32]bool{}, sync.Mutex{}
	change := func(partitions map[string][]int32, holds bool) {
		holding.Lock()
		defer holding.Unlock()
		for _, partition := range partitions[settings["topic"]] {
			if held[partition] = holds; !holds {
				delete(held, partition)
			}
		}
		say('J', uint32(len(held)))
	}
	if settings["role"] == "producer" {
		options = append(options, kgo.DefaultProduceTopic(settings["topic"]), kgo.RecordPartitioner(partitioner{}))
		if properties["linger.ms"] == "0" {
			options = append(options, kgo.ProducerLinger(0))
		}
	} else {
		options = append(options, kgo.ConsumeTopics(settings["topic"]), kgo.ConsumerGroup(settings["group"]),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { change(got, true) }),
			kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { change(lost, false) }))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		say('X', []byte(fmt.Sprint(err)))
		return
	}
	ready()
	if settings["role"] == "producer" {
		produce(client)
	} else {
		consume(client)
	}
}
