/* Stubs of what kits/metal/tilec_metal.m and kits/probe/metal_probe.m use of Foundation, for checking its syntax and types: declarations as Apple's documentation has them. */
#ifndef SHIM_FOUNDATION
#define SHIM_FOUNDATION
#include <stddef.h>
typedef unsigned long NSUInteger;
typedef long NSInteger;
typedef signed char BOOL;
#define YES ((BOOL)1)
#define NO ((BOOL)0)
#define nil ((id)0)
typedef NSUInteger NSStringEncoding;
enum { NSUTF8StringEncoding = 4 };
@class NSString;
@protocol NSObject
@end
@interface NSObject <NSObject>
+ (instancetype)new;
@end
@interface NSError : NSObject
@property(readonly, copy) NSString *localizedDescription;
@end
@interface NSString : NSObject
@property(readonly) const char *UTF8String;
+ (instancetype)stringWithUTF8String:(const char *)text;
+ (instancetype)stringWithFormat:(NSString *)format, ...;
- (NSString *)stringByDeletingPathExtension;
- (NSString *)stringByAppendingPathExtension:(NSString *)extension;
+ (instancetype)stringWithContentsOfFile:(NSString *)path encoding:(NSStringEncoding)encoding error:(NSError **)error;
@end
@interface NSProcessInfo : NSObject
@property(class, readonly) NSProcessInfo *processInfo;
@property(readonly, copy) NSString *operatingSystemVersionString;
@end
@interface NSArray<ObjectType> : NSObject
- (ObjectType)objectAtIndexedSubscript:(NSUInteger)index;
@end
@interface NSMutableArray<ObjectType> : NSArray <ObjectType>
- (void)addObject:(ObjectType)object;
@end
#endif
